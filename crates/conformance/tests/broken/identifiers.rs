//! Flaws of a store that has no identifier left.

use std::sync::atomic::Ordering;

use petstore_domain::{
    AddError, Added, Archive as _, KeyStore as _, Pet, PetId, PetRepository as _, Rows, StoreError,
    WriterRole,
};
use petstore_memory::MemoryStore;

use crate::{
    faults::{Faults, Handle, Request},
    flaw::Flaw,
};

async fn is_full(store: &MemoryStore) -> Result<bool, StoreError> {
    Ok(store.find(PetId(i64::MAX)).await?.value.is_some())
}

async fn write(store: &MemoryStore, rows: Rows) -> Result<u64, StoreError> {
    store.write_rows(WriterRole::Service, rows).await.map_err(StoreError::unavailable)
}

/// Makes additions call `instead` once no identifier is left. `instead` gets the animal under the highest identifier.
fn behind_the_highest<F>(it: &mut Faults, instead: fn(Handle, Pet, Request) -> F)
where
    F: Future<Output = Result<Added, AddError>> + Send + 'static,
{
    it.add.replace(move |store, (pet, request)| async move {
        if is_full(&store).await? {
            return instead(store, pet.with_id(PetId(i64::MAX)), request).await;
        }
        store.add(pet, request).await
    });
}

/// A store whose writer ends when an addition finds no identifier left.
fn end_when_full(it: &mut Faults) {
    it.add.replace(|store, (pet, request)| async move {
        let end = store.add(pet, request).await;
        store.notes.flag.fetch_or(end.is_err() && is_full(&store).await?, Ordering::SeqCst);
        end
    });
}

fn gone_when_full(store: &Handle) -> Result<(), StoreError> {
    let ended = store.notes.flag.load(Ordering::SeqCst);
    if ended { Err(StoreError::unavailable("the writer has ended")) } else { Ok(()) }
}

const GROW: &[&str] = &["identifiers_grow_and_none_is_assigned_twice"];
const HIGHEST: &[&str] = &["where_no_identifier_is_left_all_else_goes_on"];

pub(crate) const FLAWS: &[Flaw] = &[
    Flaw::new("two animals have one identifier", GROW, |it| {
        it.add.edit_output(|_, _, added| {
            if let Added::Created(pet) = added {
                pet.id.0 /= 2;
            }
        });
    }),
    Flaw::new("every second animal has a lower identifier than the one before", GROW, |it| {
        it.add.edit_output(|_, _, added| {
            if let Added::Created(pet) = added {
                pet.id.0 ^= 1;
            }
        });
    }),
    Flaw::new("the identifier after the highest one is negative", HIGHEST, |it| {
        behind_the_highest(it, |store, pet, _| async move {
            let pet = Pet { id: PetId(i64::MIN), ..pet };
            write(&store, Rows { pets: vec![pet.clone()], ..Rows::default() }).await?;
            Ok(Added::Created(pet))
        });
    }),
    Flaw::new("the highest identifier is assigned again", HIGHEST, |it| {
        behind_the_highest(it, |_, pet, _| async { Ok(Added::Created(pet)) });
    }),
    Flaw::new("an addition is unavailable when no identifier is left", HIGHEST, |it| {
        behind_the_highest(it, |_, _, _| async {
            Err(StoreError::unavailable("no identifier is left").into())
        });
    }),
    Flaw::new("an addition that finds no identifier left stores its record", HIGHEST, |it| {
        behind_the_highest(it, |store, pet, request| async move {
            let records = request.map(|request| request.into_record(pet.id)).into_iter().collect();
            write(&store, Rows { records, ..Rows::default() }).await?;
            Err(StoreError::refused("no identifier is left").into())
        });
    }),
    Flaw::new("a store without an identifier left lists no animals", HIGHEST, |it| {
        end_when_full(it);
        it.list.replace(|store, query| async move {
            gone_when_full(&store)?;
            store.list(query).await
        });
    }),
    Flaw::new("a store without an identifier left saves no keys", HIGHEST, |it| {
        end_when_full(it);
        it.save.replace(|store, (expected, changed, removed)| async move {
            gone_when_full(&store)?;
            store.save(expected, changed, removed).await
        });
    }),
    Flaw::new(
        "a batch of new animals after the highest identifier gets negative ones",
        HIGHEST,
        |it| {
            it.add_new.replace(|store, (pets, request)| async move {
                if !is_full(&store).await? {
                    return store.add_new(pets, request).await;
                }
                let pets = (i64::MIN..).zip(pets).map(|(id, pet)| pet.with_id(PetId(id)));
                Ok(write(&store, Rows { pets: pets.collect(), ..Rows::default() }).await?)
            });
        },
    ),
];
