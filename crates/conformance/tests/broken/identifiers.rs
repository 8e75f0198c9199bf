//! Flaws of a store that has no identifier left.

use std::sync::atomic::Ordering;

use petstore_domain::{
    AddError, Added, Archive as _, Pet, PetId, PetRepository as _, Rows, StoreError, WriterRole,
};
use petstore_memory::MemoryStore;

use crate::{
    faults::{Answer, Faults, Handle, Request},
    flaw::Flaw,
    names::{GROW, HIGHEST},
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

/// Returns flaws of calls that fail once an addition has found no identifier left, as if the writer had ended.
pub(crate) fn flaws() -> Vec<Flaw> {
    let kinds =
        ["find", "list", "purge", "load", "save", "note", "snapshot", "add many", "write animals"];
    let flaws = kinds.map(|kind| {
        Flaw::made(format!("'{kind}' fails if no identifier is left"), &[HIGHEST], move |it| {
            it.add.replace(|store, (pet, request)| async move {
                let end = store.add(pet, request).await;
                store.notes.flag.fetch_or(end.is_err(), Ordering::SeqCst);
                end
            });
            it.answer = Box::new(move |store, call, _| {
                let ended = call == kind && store.notes.flag.load(Ordering::SeqCst);
                if ended { Answer::Unavailable } else { Answer::AsUsual }
            });
        })
    });
    flaws.into()
}

pub(crate) const FLAWS: &[Flaw] = &[
    Flaw::new("each handle counts the identifiers of its own animals", &[GROW], |it| {
        it.add.edit_output(|store, _, added| {
            if let Added::Created(pet) = added {
                pet.id.0 = store.own.count.fetch_add(1, Ordering::SeqCst);
            }
        });
    }),
    Flaw::new("every second animal has a lower identifier than the one before", &[GROW], |it| {
        it.add.edit_output(|_, _, added| {
            if let Added::Created(pet) = added {
                pet.id.0 ^= 1;
            }
        });
    }),
    Flaw::new("the identifier after the highest one is negative", &[HIGHEST], |it| {
        behind_the_highest(it, |store, pet, _| async move {
            let pet = Pet { id: PetId(i64::MIN), ..pet };
            write(&store, Rows { pets: vec![pet.clone()], ..Rows::default() }).await?;
            Ok(Added::Created(pet))
        });
    }),
    Flaw::new("the highest identifier is assigned again", &[HIGHEST], |it| {
        behind_the_highest(it, |_, pet, _| async { Ok(Added::Created(pet)) });
    }),
    Flaw::new("an addition that finds no identifier left stores its record", &[HIGHEST], |it| {
        behind_the_highest(it, |store, pet, request| async move {
            let records = request.map(|request| request.into_record(pet.id)).into_iter().collect();
            write(&store, Rows { records, ..Rows::default() }).await?;
            Err(StoreError::refused("no identifier is left").into())
        });
    }),
];
