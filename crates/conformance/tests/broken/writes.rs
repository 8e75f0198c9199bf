//! Flaws of one kind of write among many, and of what goes on beside a batch.

use std::{
    mem,
    pin::Pin,
    sync::{Arc, atomic::Ordering},
    time::Duration,
};

use petstore_domain::{
    AddError, Added, Archive, Batch, NewPet, Pet, PetId, PetRepository, PetStatus, RestoreError,
    StoreError, Timestamp, Written,
};
use petstore_memory::MemoryStore;
use tokio::time::sleep;

use crate::{
    faults::{Faults, Request},
    flaw::{Flaw, Notes},
};

type Wrote = Result<Written, RestoreError>;
type Addition = Pin<Box<dyn Future<Output = Result<Added, AddError>> + Send>>;

/// Batches that `write` writes, while the flag in the notes says that one is being written.
fn batches<F>(
    faults: Faults,
    notes: &Arc<Notes>,
    write: impl Fn(Arc<MemoryStore>, Batch) -> F + Clone + Send + Sync + 'static,
) -> Faults
where
    F: Future<Output = Wrote> + Send + 'static,
{
    let notes = Arc::clone(notes);
    faults.write(move |store, batch| {
        let (notes, write) = (Arc::clone(&notes), write.clone());
        async move {
            notes.flag.store(true, Ordering::SeqCst);
            let written = write(store, batch).await;
            notes.flag.store(false, Ordering::SeqCst);
            written
        }
    })
}

/// Batches of which `refused` says what becomes of one that was refused.
fn refused_batches<F>(
    refused: impl Fn(Arc<MemoryStore>, Batch, RestoreError) -> F + Clone + Send + Sync + 'static,
) -> Faults
where
    F: Future<Output = Wrote> + Send + 'static,
{
    Faults::default().write(move |store, batch| {
        let refused = refused.clone();
        async move {
            match store.write(batch.clone()).await {
                Ok(written) => Ok(written),
                Err(error) => refused(store, batch, error).await,
            }
        }
    })
}

/// Whether this is a handle that is not the first one opened.
fn is_another(notes: &Notes) -> bool {
    notes.handles.fetch_add(1, Ordering::Relaxed) > 0
}

fn is_pets(batch: &Batch) -> bool {
    !batch.pets.is_empty()
}

fn is_new_pets(batch: &Batch) -> bool {
    !batch.new_pets.is_empty()
}

async fn ids(store: &MemoryStore) -> Result<Vec<PetId>, StoreError> {
    let pets = store.snapshot().await?.pets(None, u32::MAX).await?;
    Ok(pets.into_iter().map(|pet| pet.id).collect())
}

async fn count(store: &MemoryStore) -> Result<i64, StoreError> {
    Ok(i64::try_from(ids(store).await?.len()).unwrap())
}

/// Leaves the animals of batches of some kind out of the lists that `hides` names.
fn hidden(
    notes: &Arc<Notes>,
    kind: fn(&Batch) -> bool,
    hides: fn(Option<PetStatus>) -> bool,
) -> Faults {
    let (listed, kept) = (Arc::clone(notes), Arc::clone(notes));
    let faults = Faults::change_page(move |query, page| {
        let hidden = listed.hidden.lock().unwrap();
        page.pets.retain(|pet| !hides(query.status) || !hidden.contains(&pet.id));
    });
    batches(faults, notes, move |store, batch| {
        let notes = Arc::clone(&kept);
        async move {
            let (before, any) = (ids(&store).await?, kind(&batch));
            let written = store.write(batch).await?;
            let new = ids(&store).await?.into_iter().filter(|id| any && !before.contains(id));
            notes.hidden.lock().unwrap().extend(new);
            Ok(written)
        }
    })
}

/// Changes the versions by the offset in the notes.
fn offset(notes: &Arc<Notes>) -> Faults {
    let notes = Arc::clone(notes);
    Faults::change_versions(move |version| {
        let offset = notes.offset.load(Ordering::SeqCst);
        version.saturating_add_signed(offset.into())
    })
}

fn bump(notes: &Notes, by: i64) {
    notes.offset.fetch_add(by, Ordering::SeqCst);
}

/// Does not change the version by a batch of some kind.
fn unversioned(notes: &Arc<Notes>, kind: fn(&Batch) -> bool) -> Faults {
    let kept = Arc::clone(notes);
    batches(offset(notes), notes, move |store, batch| {
        let notes = Arc::clone(&kept);
        async move {
            let (before, is_kind) = (count(&store).await?, kind(&batch));
            let written = store.write(batch).await?;
            if is_kind {
                bump(&notes, before - count(&store).await?);
            }
            Ok(written)
        }
    })
}

/// Changes the version with each addition that ends in a certain way.
fn bumped_by(notes: &Arc<Notes>, end: fn(&Result<Added, AddError>) -> bool) -> Faults {
    let kept = Arc::clone(notes);
    offset(notes).add(move |store, (pet, request)| {
        let notes = Arc::clone(&kept);
        async move {
            let ended = PetRepository::add(&*store, pet, request).await;
            bump(&notes, end(&ended).into());
            ended
        }
    })
}

/// Writes what `first` takes out of a batch, and then the rest.
fn in_two(notes: &Arc<Notes>, first: fn(&mut Batch) -> Batch) -> Faults {
    batches(Faults::default(), notes, move |store, mut batch| async move {
        let one = store.write(first(&mut batch)).await?;
        sleep(Duration::from_millis(5)).await;
        let two = store.write(batch).await?;
        Ok(Written { added: one.added + two.added })
    })
}

/// The animal with which a batch was refused, and the one that the store holds in its place.
async fn refused(
    store: &MemoryStore,
    batch: &Batch,
    error: &RestoreError,
) -> Option<(Pet, Option<Pet>)> {
    let RestoreError::OtherPet(id) = error else { return None };
    let stored = store.find(*id).await.unwrap().map(|found| found.value);
    Some((batch.pets.iter().find(|pet| pet.id == *id)?.clone(), stored))
}

/// Holds a batch up, and adds otherwise meanwhile.
fn adds_beside(
    notes: &Arc<Notes>,
    beside: fn(Arc<Notes>, Arc<MemoryStore>, NewPet, Request) -> Addition,
) -> Faults {
    let kept = Arc::clone(notes);
    let faults = Faults::default().add(move |store, (pet, request)| {
        let notes = Arc::clone(&kept);
        async move {
            if notes.flag.load(Ordering::SeqCst) {
                return beside(notes, store, pet, request).await;
            }
            PetRepository::add(&*store, pet, request).await
        }
    });
    batches(faults, notes, |store, batch| async move {
        sleep(Duration::from_millis(2)).await;
        store.write(batch).await
    })
}

async fn for_ever() {
    sleep(Duration::from_hours(1)).await;
}

async fn is_full(store: &MemoryStore) -> Result<bool, StoreError> {
    Ok(store.find(PetId(i64::MAX)).await?.is_some())
}

/// Adds otherwise when no identifier is left.
fn behind_the_highest(instead: fn(Arc<MemoryStore>, NewPet, Request) -> Addition) -> Faults {
    Faults::default().add(move |store, (pet, request)| async move {
        if is_full(&store).await? {
            return instead(store, pet, request).await;
        }
        PetRepository::add(&*store, pet, request).await
    })
}

/// Stores an animal under an identifier of one's choice.
fn under(store: Arc<MemoryStore>, pet: NewPet, id: i64) -> Addition {
    Box::pin(async move {
        let pet = pet.with_id(PetId(id));
        let pets = vec![pet.clone()];
        let written = store.write(Batch { pets, ..Batch::default() }).await;
        written.map_err(StoreError::unavailable)?;
        Ok(Added::Created(pet))
    })
}

fn slow_version(slow: fn(u64) -> bool) -> Faults {
    let calls = std::sync::atomic::AtomicU64::new(0);
    let own_version = move |version| {
        if slow(calls.fetch_add(1, Ordering::Relaxed)) {
            std::thread::sleep(Duration::from_millis(55));
        }
        version
    };
    Faults { own_version: Some(Arc::new(own_version)), ..Faults::default() }
}

const LISTS: &[&str] = &["a_write_shows_in_every_list_and_changes_nothing_else"];
const VERSIONS: &[&str] = &["the_version_changes_exactly_if_an_animal_does"];
const OVERWRITES: &[&str] = &["another_animal_is_never_overwritten"];
const WHOLE: &[&str] = &["a_batch_shows_as_a_whole_on_every_handle"];
const WRITERS: &[&str] = &["writers_go_on_beside_batches"];
const HIGHEST: &[&str] = &["no_identifier_follows_the_highest"];
const AT_ONCE: &[&str] = &["the_version_is_answered_at_once"];

pub(crate) const FLAWS: &[Flaw] = &[
    Flaw::new("animals of a batch are in no list of a status", LISTS, |notes| {
        hidden(notes, is_pets, |status| status.is_some())
    }),
    Flaw::new("animals of a batch are not in the list of the sold ones", LISTS, |notes| {
        hidden(notes, is_pets, |status| status == Some(PetStatus::Sold))
    }),
    Flaw::new("new animals of a batch are in no list of a status", LISTS, |notes| {
        hidden(notes, is_new_pets, |status| status.is_some())
    }),
    Flaw::new("another handle lists no animals of a batch", LISTS, |notes| {
        let hides: fn(_) -> bool = if is_another(notes) { |_| true } else { |_| false };
        hidden(notes, |_| true, hides)
    }),
    Flaw::new("an animal of a batch is not found by its identifier", LISTS, |notes| {
        let found = Arc::clone(notes);
        hidden(notes, |_| true, |_| false).find(move |store, id| {
            let hidden = found.hidden.lock().unwrap().contains(&id);
            async move { if hidden { Ok(None) } else { PetRepository::find(&*store, id).await } }
        })
    }),
    Flaw::new("a batch of animals alone deletes the records", LISTS, |notes| {
        batches(Faults::default(), notes, |store, batch| async move {
            if is_pets(&batch) && batch.records.is_empty() {
                store.purge_expired(Timestamp(i64::MAX), u32::MAX).await?;
            }
            store.write(batch).await
        })
    }),
    Flaw::new("a batch of animals alone leaves the version", VERSIONS, |notes| {
        unversioned(notes, is_pets)
    }),
    Flaw::new("a batch of new animals alone leaves the version", VERSIONS, |notes| {
        unversioned(notes, is_new_pets)
    }),
    Flaw::new("the version of another handle misses the batches of the first", VERSIONS, |notes| {
        let misses = is_another(notes);
        let (missed, kept) = (Arc::clone(notes), Arc::clone(notes));
        let faults = Faults::change_versions(move |version| {
            let missed = if misses { missed.offset.load(Ordering::SeqCst) } else { 0 };
            version.saturating_add_signed(missed.into())
        });
        batches(faults, notes, move |store, batch| {
            let notes = Arc::clone(&kept);
            async move {
                let before = count(&store).await?;
                let written = store.write(batch).await?;
                if !misses {
                    bump(&notes, before - count(&store).await?);
                }
                Ok(written)
            }
        })
    }),
    Flaw::new("a purge changes the version", VERSIONS, |notes| {
        let kept = Arc::clone(notes);
        offset(notes).purge(move |store, (cutoff, limit)| {
            bump(&kept, 1);
            async move { store.purge_expired(cutoff, limit).await }
        })
    }),
    Flaw::new("a repeat changes the version", VERSIONS, |notes| {
        bumped_by(notes, |end| matches!(end, Ok(Added::Replayed(_))))
    }),
    Flaw::new("a refused addition changes the version", VERSIONS, |notes| {
        bumped_by(notes, Result::is_err)
    }),
    Flaw::new("a refused batch changes the version", VERSIONS, |notes| {
        let kept = Arc::clone(notes);
        batches(offset(notes), notes, move |store, batch| {
            let notes = Arc::clone(&kept);
            async move {
                let written = store.write(batch).await;
                bump(&notes, written.is_err().into());
                written
            }
        })
    }),
    Flaw::new("of two animals in one batch the first wins", OVERWRITES, |_| {
        refused_batches(|store, batch, error| async move {
            match refused(&store, &batch, &error).await {
                Some((_, None)) => Ok(Written::default()),
                _ => Err(error),
            }
        })
    }),
    Flaw::new("an animal that differs in its status counts as the same", OVERWRITES, |_| {
        refused_batches(|store, batch, error| async move {
            match refused(&store, &batch, &error).await {
                Some((pet, Some(stored)))
                    if stored.name == pet.name && stored.category_id == pet.category_id =>
                {
                    Ok(Written::default())
                }
                _ => Err(error),
            }
        })
    }),
    Flaw::new("a refused batch leaves what comes before the conflict", OVERWRITES, |_| {
        refused_batches(|store, mut batch, error| async move {
            batch.pets.pop();
            store.write(batch).await?;
            Err(error)
        })
    }),
    Flaw::new("a refusal does not say which animal", OVERWRITES, |_| {
        refused_batches(|_, _, error| {
            let unnamed = matches!(error, RestoreError::OtherPet(_));
            let error = if unnamed { RestoreError::conflict("animal") } else { error };
            async { Err(error) }
        })
    }),
    Flaw::new("animals are committed before keys and records", WHOLE, |notes| {
        in_two(notes, |batch| Batch { pets: mem::take(&mut batch.pets), ..Batch::default() })
    }),
    Flaw::new("keys are committed before animals", WHOLE, |notes| {
        in_two(notes, |batch| Batch { keys: mem::take(&mut batch.keys), ..Batch::default() })
    }),
    Flaw::new("records are committed after all the rest", WHOLE, |notes| {
        in_two(notes, |batch| {
            let records = mem::take(&mut batch.records);
            mem::replace(batch, Batch { records, ..Batch::default() })
        })
    }),
    Flaw::new("an addition beside a batch has no end", WRITERS, |notes| {
        adds_beside(notes, |_, store, pet, request| {
            Box::pin(async move {
                for_ever().await;
                PetRepository::add(&*store, pet, request).await
            })
        })
    }),
    Flaw::new("an addition with a key beside a batch has no end", WRITERS, |notes| {
        adds_beside(notes, |_, store, pet, request| {
            Box::pin(async move {
                if request.is_some() {
                    for_ever().await;
                }
                PetRepository::add(&*store, pet, request).await
            })
        })
    }),
    Flaw::new("an addition of another handle beside a batch has no end", WRITERS, |notes| {
        if !is_another(notes) {
            return adds_beside(notes, |_, store, pet, request| {
                Box::pin(async move { PetRepository::add(&*store, pet, request).await })
            });
        }
        adds_beside(notes, |_, store, pet, request| {
            Box::pin(async move {
                for_ever().await;
                PetRepository::add(&*store, pet, request).await
            })
        })
    }),
    Flaw::new("a purge beside a batch has no end", WRITERS, |notes| {
        let kept = Arc::clone(notes);
        let faults = Faults::default().purge(move |store, (cutoff, limit)| {
            let is_on = kept.flag.load(Ordering::SeqCst);
            async move {
                if is_on {
                    for_ever().await;
                }
                store.purge_expired(cutoff, limit).await
            }
        });
        batches(faults, notes, |store, batch| async move {
            sleep(Duration::from_millis(2)).await;
            store.write(batch).await
        })
    }),
    Flaw::new("an addition beside a batch is refused", WRITERS, |notes| {
        adds_beside(notes, |_, _, _, _| {
            Box::pin(async { Err(StoreError::unavailable("a batch is written").into()) })
        })
    }),
    Flaw::new("a batch is lost when another write comes in between", WRITERS, |notes| {
        let kept = Arc::clone(notes);
        let faults = adds_beside(notes, |notes, store, pet, request| {
            notes.last_id.store(1, Ordering::SeqCst);
            Box::pin(async move { PetRepository::add(&*store, pet, request).await })
        });
        batches(faults, notes, move |store, batch| {
            let notes = Arc::clone(&kept);
            async move {
                sleep(Duration::from_millis(2)).await;
                if notes.last_id.swap(0, Ordering::SeqCst) > 0 {
                    return Ok(Written::default());
                }
                store.write(batch).await
            }
        })
    }),
    Flaw::new("identifiers wrap to negative ones", HIGHEST, |_| {
        behind_the_highest(|store, pet, _| under(store, pet, i64::MIN))
    }),
    Flaw::new("the identifier behind the highest is the lowest that is free", HIGHEST, |_| {
        behind_the_highest(|store, pet, _| under(store, pet, 2))
    }),
    Flaw::new("the identifier behind the highest is the highest", HIGHEST, |_| {
        behind_the_highest(|_, pet, _| {
            Box::pin(async move { Ok(Added::Created(pet.with_id(PetId(i64::MAX)))) })
        })
    }),
    Flaw::new("an addition without an identifier leaves its record", HIGHEST, |_| {
        behind_the_highest(|store, _, request| {
            Box::pin(async move {
                let record = request.map(|request| request.into_record(PetId(i64::MAX)));
                let records = record.into_iter().collect();
                let written = store.write(Batch { records, ..Batch::default() }).await;
                written.map_err(StoreError::unavailable)?;
                Err(StoreError::unavailable("no identifier is left").into())
            })
        })
    }),
    Flaw::new("a store without an identifier left answers no reads", HIGHEST, |notes| {
        let (kept, silent) = (Arc::clone(notes), Arc::clone(notes));
        let faults = Faults::default().add(move |store, (pet, request)| {
            let notes = Arc::clone(&kept);
            async move {
                let end = PetRepository::add(&*store, pet, request).await;
                notes.flag.fetch_or(end.is_err() && is_full(&store).await?, Ordering::SeqCst);
                end
            }
        });
        faults.list(move |store, query| {
            let silent = silent.flag.load(Ordering::SeqCst);
            async move {
                if silent {
                    return Err(StoreError::unavailable("the writer has ended"));
                }
                PetRepository::list(&*store, query).await
            }
        })
    }),
    Flaw::new("new animals of a batch wrap to negative identifiers", HIGHEST, |_| {
        refused_batches(|store, mut batch, _| async move {
            let new = mem::take(&mut batch.new_pets);
            batch.pets.extend((i64::MIN..).zip(new).map(|(id, pet)| pet.with_id(PetId(id))));
            store.write(batch).await
        })
    }),
    Flaw::new("the version takes 55 ms", AT_ONCE, |_| slow_version(|_| true)),
    Flaw::new("two of three times the version takes 55 ms", AT_ONCE, |_| {
        slow_version(|call| call % 3 > 0)
    }),
];
