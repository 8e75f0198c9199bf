//! Flaws of a store that has no identifier left.

use std::{
    pin::Pin,
    sync::{Arc, atomic::Ordering},
};

use petstore_domain::{
    AddError, Added, Archive, KeyStore as _, NewPet, PetId, PetRepository, Rows, StoreError,
    WriterRole,
};
use petstore_memory::MemoryStore;

use crate::{
    faults::{Faults, Request},
    flaw::{Flaw, Notes},
};

type Addition = Pin<Box<dyn Future<Output = Result<Added, AddError>> + Send>>;

async fn is_full(store: &MemoryStore) -> Result<bool, StoreError> {
    Ok(store.find(PetId(i64::MAX)).await?.value.is_some())
}

/// Additions that call `instead` once no identifier is left.
fn behind_the_highest(instead: fn(Arc<MemoryStore>, NewPet, Request) -> Addition) -> Faults {
    Faults::default().add(move |store, (pet, request)| async move {
        if is_full(&store).await? {
            return instead(store, pet, request).await;
        }
        PetRepository::add(&*store, pet, request).await
    })
}

/// Stores an animal under the identifier `id`.
fn under(store: Arc<MemoryStore>, pet: NewPet, id: i64) -> Addition {
    Box::pin(async move {
        let pet = pet.with_id(PetId(id));
        let rows = Rows { pets: vec![pet.clone()], ..Rows::default() };
        store.write_rows(WriterRole::Service, rows).await.map_err(StoreError::unavailable)?;
        Ok(Added::Created(pet))
    })
}

/// A store whose writer ends when an addition finds no identifier left. `silent` adds the fault of the call that fails
/// from then on.
fn ends_when_full(notes: &Arc<Notes>, silent: fn(Faults, Arc<Notes>) -> Faults) -> Faults {
    let kept = Arc::clone(notes);
    let faults = Faults::default().add(move |store, (pet, request)| {
        let notes = Arc::clone(&kept);
        async move {
            let end = PetRepository::add(&*store, pet, request).await;
            notes.flag.fetch_or(end.is_err() && is_full(&store).await?, Ordering::SeqCst);
            end
        }
    });
    silent(faults, Arc::clone(notes))
}

fn gone(notes: &Notes) -> Result<(), StoreError> {
    let ended = notes.flag.load(Ordering::SeqCst);
    if ended { Err(StoreError::unavailable("the writer has ended")) } else { Ok(()) }
}

const HIGHEST: &[&str] = &["where_no_identifier_is_left_all_else_goes_on"];

pub(crate) const FLAWS: &[Flaw] = &[
    Flaw::new("the identifier after the highest one is negative", HIGHEST, |_| {
        behind_the_highest(|store, pet, _| under(store, pet, i64::MIN))
    }),
    Flaw::new("the highest identifier is assigned again", HIGHEST, |_| {
        behind_the_highest(|_, pet, _| {
            Box::pin(async move { Ok(Added::Created(pet.with_id(PetId(i64::MAX)))) })
        })
    }),
    Flaw::new("an addition is unavailable when no identifier is left", HIGHEST, |_| {
        behind_the_highest(|_, _, _| {
            Box::pin(async { Err(StoreError::unavailable("no identifier is left").into()) })
        })
    }),
    Flaw::new("an addition that finds no identifier left stores its record", HIGHEST, |_| {
        behind_the_highest(|store, _, request| {
            Box::pin(async move {
                let record = request.map(|request| request.into_record(PetId(i64::MAX)));
                let rows = Rows { records: record.into_iter().collect(), ..Rows::default() };
                let written = store.write_rows(WriterRole::Service, rows).await;
                written.map_err(StoreError::unavailable)?;
                Err(StoreError::refused("no identifier is left").into())
            })
        })
    }),
    Flaw::new("a store without an identifier left lists no animals", HIGHEST, |notes| {
        ends_when_full(notes, |faults, notes| {
            faults.list(move |store, query| {
                let gone = gone(&notes);
                async move {
                    gone?;
                    PetRepository::list(&*store, query).await
                }
            })
        })
    }),
    Flaw::new("a store without an identifier left saves no keys", HIGHEST, |notes| {
        ends_when_full(notes, |faults, notes| {
            faults.save(move |store, (expected, changed, removed)| {
                let gone = gone(&notes);
                async move {
                    gone?;
                    store.save(expected, changed, removed).await
                }
            })
        })
    }),
    Flaw::new(
        "a batch of new animals after the highest identifier gets negative ones",
        HIGHEST,
        |_| {
            Faults::default().add_new(|store, (pets, request)| async move {
                if !is_full(&store).await? {
                    return store.add_new(pets, request).await;
                }
                let pets = (i64::MIN..).zip(pets).map(|(id, pet)| pet.with_id(PetId(id)));
                let rows = Rows { pets: pets.collect(), ..Rows::default() };
                store.write_rows(WriterRole::Service, rows).await
            })
        },
    ),
];
