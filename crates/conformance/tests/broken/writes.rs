//! Flaws of one kind of write among many, and of what goes on beside a restore.

use std::{
    pin::Pin,
    sync::{Arc, atomic::Ordering},
    time::Duration,
};

use async_trait::async_trait;
use petstore_domain::{
    AddError, Added, ApiKey, Archive, IdempotencyRecord, NewPet, Pet, PetId, PetRepository,
    PetStatus, Restore, RestoreError, StoreError, Timestamp,
};
use petstore_memory::MemoryStore;
use tokio::time::sleep;

use crate::{
    faults::{Faults, Request},
    flaw::{Flaw, Notes},
};

/// What a restore was given, in its order.
#[derive(Clone)]
enum Batch {
    Pets(Vec<Pet>),
    NewPets(Vec<NewPet>),
    Keys(Vec<ApiKey>),
    Records(Vec<IdempotencyRecord>),
}

type Reply<E> = Pin<Box<dyn Future<Output = Result<(), E>> + Send>>;
type Commit = Arc<dyn Fn(Arc<MemoryStore>, Vec<Batch>) -> Reply<StoreError> + Send + Sync>;
/// What becomes of a batch, the last of these, that is refused.
type Refused = fn(Arc<MemoryStore>, Vec<Batch>, RestoreError) -> Reply<RestoreError>;

/// A restore that tries each batch as it comes, and keeps all of them for a commit with a fault.
struct Draft {
    store: Arc<MemoryStore>,
    tried: Box<dyn Restore>,
    batches: Vec<Batch>,
    refused: Refused,
    commit: Commit,
    /// Its flag says that a restore is open.
    notes: Arc<Notes>,
}

impl Draft {
    async fn take(&mut self, batch: Batch) -> Result<u64, RestoreError> {
        match put(&mut *self.tried, batch.clone()).await {
            Ok(new) => {
                self.batches.push(batch);
                Ok(new)
            }
            Err(error) => {
                self.batches.push(batch);
                let batches = self.batches.clone();
                (self.refused)(Arc::clone(&self.store), batches, error).await.map(|()| 0)
            }
        }
    }
}

impl Drop for Draft {
    fn drop(&mut self) {
        self.notes.flag.store(false, Ordering::SeqCst);
    }
}

#[async_trait]
impl Restore for Draft {
    async fn pets(&mut self, pets: Vec<Pet>) -> Result<u64, RestoreError> {
        self.take(Batch::Pets(pets)).await
    }

    async fn new_pets(&mut self, pets: Vec<NewPet>) -> Result<(), RestoreError> {
        self.take(Batch::NewPets(pets)).await.map(drop)
    }

    async fn keys(&mut self, keys: Vec<ApiKey>) -> Result<(), RestoreError> {
        self.take(Batch::Keys(keys)).await.map(drop)
    }

    async fn idempotency_records(
        &mut self,
        records: Vec<IdempotencyRecord>,
    ) -> Result<(), RestoreError> {
        self.take(Batch::Records(records)).await.map(drop)
    }

    async fn commit(mut self: Box<Self>) -> Result<(), StoreError> {
        let batches = std::mem::take(&mut self.batches);
        (self.commit)(Arc::clone(&self.store), batches).await
    }
}

async fn put(restore: &mut dyn Restore, batch: Batch) -> Result<u64, RestoreError> {
    match batch {
        Batch::Pets(pets) => restore.pets(pets).await,
        Batch::NewPets(pets) => restore.new_pets(pets).await.map(|()| 0),
        Batch::Keys(keys) => restore.keys(keys).await.map(|()| 0),
        Batch::Records(records) => restore.idempotency_records(records).await.map(|()| 0),
    }
}

/// Writes the batches in one transaction.
async fn write(store: &MemoryStore, batches: Vec<Batch>) -> Result<(), StoreError> {
    let mut restore = store.restore().await?;
    for batch in batches {
        put(&mut *restore, batch).await.map_err(StoreError::unavailable)?;
    }
    restore.commit().await
}

fn pass_on(_: Arc<MemoryStore>, _: Vec<Batch>, error: RestoreError) -> Reply<RestoreError> {
    Box::pin(async { Err(error) })
}

fn honest() -> Commit {
    Arc::new(|store, batches| Box::pin(async move { write(&store, batches).await }))
}

impl Faults {
    /// Restores that `commit` writes.
    fn commits<F>(
        self,
        notes: &Arc<Notes>,
        commit: impl Fn(Arc<MemoryStore>, Vec<Batch>) -> F + Send + Sync + 'static,
    ) -> Self
    where
        F: Future<Output = Result<(), StoreError>> + Send + 'static,
    {
        let commit: Commit = Arc::new(move |store, batches| Box::pin(commit(store, batches)));
        self.drafts(notes, commit, pass_on)
    }

    fn drafts(self, notes: &Arc<Notes>, commit: Commit, refused: Refused) -> Self {
        let notes = Arc::clone(notes);
        self.restore(move |store, ()| {
            let (commit, notes) = (Arc::clone(&commit), Arc::clone(&notes));
            notes.flag.store(true, Ordering::SeqCst);
            async move {
                let (tried, batches) = (store.restore().await?, Vec::new());
                let draft = Draft { store, tried, batches, refused, commit, notes };
                Ok(Box::new(draft) as Box<dyn Restore>)
            }
        })
    }
}

/// Whether this is a handle that is not the first one opened.
fn is_another(notes: &Notes) -> bool {
    notes.handles.fetch_add(1, Ordering::Relaxed) > 0
}

fn is_pets(batch: &Batch) -> bool {
    matches!(batch, Batch::Pets(_))
}

fn is_new_pets(batch: &Batch) -> bool {
    matches!(batch, Batch::NewPets(_))
}

async fn ids(store: &MemoryStore) -> Result<Vec<PetId>, StoreError> {
    let pets = store.snapshot().await?.pets(None, u32::MAX).await?;
    Ok(pets.into_iter().map(|pet| pet.id).collect())
}

async fn count(store: &MemoryStore) -> Result<i64, StoreError> {
    Ok(i64::try_from(ids(store).await?.len()).unwrap())
}

/// Leaves the animals that were restored by a batch of some kind out of the lists that `hides` names.
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
    faults.commits(notes, move |store, batches| {
        let notes = Arc::clone(&kept);
        async move {
            let (before, any) = (ids(&store).await?, batches.iter().any(kind));
            write(&store, batches).await?;
            let new = ids(&store).await?.into_iter().filter(|id| any && !before.contains(id));
            notes.hidden.lock().unwrap().extend(new);
            Ok(())
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

/// Does not change the version by a restore that has batches of one kind alone.
fn unversioned(notes: &Arc<Notes>, kind: fn(&Batch) -> bool) -> Faults {
    let kept = Arc::clone(notes);
    offset(notes).commits(notes, move |store, batches| {
        let notes = Arc::clone(&kept);
        async move {
            let (before, alone) = (count(&store).await?, batches.iter().all(kind));
            write(&store, batches).await?;
            if alone {
                bump(&notes, before - count(&store).await?);
            }
            Ok(())
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

/// Commits the batches of some kind before the others.
fn in_two(notes: &Arc<Notes>, first: fn(&Batch) -> bool) -> Faults {
    Faults::default().commits(notes, move |store, batches| async move {
        let (one, two): (Vec<_>, Vec<_>) = batches.into_iter().partition(first);
        write(&store, one).await?;
        sleep(Duration::from_millis(5)).await;
        write(&store, two).await
    })
}

/// The animal with which a batch was refused, and the one that the store holds in its place.
async fn refused(
    store: &MemoryStore,
    batches: &[Batch],
    error: &RestoreError,
) -> Option<(Pet, Option<Pet>)> {
    let RestoreError::OtherPet(id) = error else { return None };
    let Some(Batch::Pets(pets)) = batches.last() else { return None };
    let stored = store.find(*id).await.unwrap().map(|found| found.value);
    Some((pets.iter().find(|pet| pet.id == *id)?.clone(), stored))
}

/// Waits while a restore is open.
async fn blocked(notes: Arc<Notes>) {
    while notes.flag.load(Ordering::SeqCst) {
        sleep(Duration::from_millis(1)).await;
    }
}

type Addition = Pin<Box<dyn Future<Output = Result<Added, AddError>> + Send>>;

/// Adds otherwise while a restore is open.
fn adds_beside(
    notes: &Arc<Notes>,
    commit: Commit,
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
    faults.drafts(notes, commit, pass_on)
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
        write(&store, vec![Batch::Pets(vec![pet.clone()])]).await?;
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
const WHOLE: &[&str] = &["a_restore_shows_as_a_whole_on_every_handle"];
const WRITERS: &[&str] = &["a_writer_beside_a_restore_is_answered"];
const HIGHEST: &[&str] = &["no_identifier_follows_the_highest"];
const AT_ONCE: &[&str] = &["the_version_is_answered_at_once"];

pub(crate) const FLAWS: &[Flaw] = &[
    Flaw::new("restored animals are in no list of a status", LISTS, |notes| {
        hidden(notes, is_pets, |status| status.is_some())
    }),
    Flaw::new("restored animals are not in the list of the sold ones", LISTS, |notes| {
        hidden(notes, is_pets, |status| status == Some(PetStatus::Sold))
    }),
    Flaw::new("new animals of a restore are in no list of a status", LISTS, |notes| {
        hidden(notes, is_new_pets, |status| status.is_some())
    }),
    Flaw::new("another handle lists no restored animals", LISTS, |notes| {
        let hides: fn(_) -> bool = if is_another(notes) { |_| true } else { |_| false };
        hidden(notes, |_| true, hides)
    }),
    Flaw::new("a restored animal is not found by its identifier", LISTS, |notes| {
        let found = Arc::clone(notes);
        hidden(notes, |_| true, |_| false).find(move |store, id| {
            let hidden = found.hidden.lock().unwrap().contains(&id);
            async move { if hidden { Ok(None) } else { PetRepository::find(&*store, id).await } }
        })
    }),
    Flaw::new("a restore of animals alone deletes the records", LISTS, |notes| {
        Faults::default().commits(notes, |store, batches| async move {
            if batches.iter().all(is_pets) {
                store.purge_expired(Timestamp(i64::MAX), u32::MAX).await?;
            }
            write(&store, batches).await
        })
    }),
    Flaw::new("a restore of animals alone leaves the version", VERSIONS, |notes| {
        unversioned(notes, is_pets)
    }),
    Flaw::new("a restore of new animals alone leaves the version", VERSIONS, |notes| {
        unversioned(notes, is_new_pets)
    }),
    Flaw::new(
        "the version of another handle misses the restores of the first",
        VERSIONS,
        |notes| {
            let misses = is_another(notes);
            let (missed, kept) = (Arc::clone(notes), Arc::clone(notes));
            let faults = Faults::change_versions(move |version| {
                let missed = if misses { missed.offset.load(Ordering::SeqCst) } else { 0 };
                version.saturating_add_signed(missed.into())
            });
            faults.commits(notes, move |store, batches| {
                let notes = Arc::clone(&kept);
                async move {
                    let before = count(&store).await?;
                    write(&store, batches).await?;
                    if !misses {
                        bump(&notes, before - count(&store).await?);
                    }
                    Ok(())
                }
            })
        },
    ),
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
    Flaw::new("a restore changes the version when it begins", VERSIONS, |notes| {
        let kept = Arc::clone(notes);
        offset(notes).restore(move |store, ()| {
            bump(&kept, 1);
            async move { store.restore().await }
        })
    }),
    Flaw::new("of two animals in one restore the first wins", OVERWRITES, |notes| {
        Faults::default().drafts(notes, honest(), |store, batches, error| {
            Box::pin(async move {
                match refused(&store, &batches, &error).await {
                    Some((_, None)) => Ok(()),
                    _ => Err(error),
                }
            })
        })
    }),
    Flaw::new("an animal that differs in its status counts as the same", OVERWRITES, |notes| {
        Faults::default().drafts(notes, honest(), |store, batches, error| {
            Box::pin(async move {
                match refused(&store, &batches, &error).await {
                    Some((pet, Some(stored)))
                        if stored.name == pet.name && stored.category_id == pet.category_id =>
                    {
                        Ok(())
                    }
                    _ => Err(error),
                }
            })
        })
    }),
    Flaw::new("a refused restore leaves its earlier batches", OVERWRITES, |notes| {
        Faults::default().drafts(notes, honest(), |store, mut batches, error| {
            Box::pin(async move {
                batches.pop();
                write(&store, batches).await?;
                Err(error)
            })
        })
    }),
    Flaw::new("a refusal does not say which animal", OVERWRITES, |notes| {
        Faults::default().drafts(notes, honest(), |_, _, error| {
            let unnamed = matches!(error, RestoreError::OtherPet(_));
            let error = if unnamed { RestoreError::conflict("animal") } else { error };
            Box::pin(async { Err(error) })
        })
    }),
    Flaw::new("animals are committed before keys and records", WHOLE, |notes| {
        in_two(notes, is_pets)
    }),
    Flaw::new("keys are committed before animals", WHOLE, |notes| {
        in_two(notes, |batch| matches!(batch, Batch::Keys(_)))
    }),
    Flaw::new("records are committed after all the rest", WHOLE, |notes| {
        in_two(notes, |batch| !matches!(batch, Batch::Records(_)))
    }),
    Flaw::new("an addition waits for a restore without end", WRITERS, |notes| {
        adds_beside(notes, honest(), |notes, store, pet, request| {
            Box::pin(async move {
                blocked(notes).await;
                PetRepository::add(&*store, pet, request).await
            })
        })
    }),
    Flaw::new("an addition with a key waits for a restore without end", WRITERS, |notes| {
        adds_beside(notes, honest(), |notes, store, pet, request| {
            Box::pin(async move {
                if request.is_some() {
                    blocked(notes).await;
                }
                PetRepository::add(&*store, pet, request).await
            })
        })
    }),
    Flaw::new("a writer of another handle waits for a restore without end", WRITERS, |notes| {
        if !is_another(notes) {
            return Faults::default().drafts(notes, honest(), pass_on);
        }
        adds_beside(notes, honest(), |notes, store, pet, request| {
            Box::pin(async move {
                blocked(notes).await;
                PetRepository::add(&*store, pet, request).await
            })
        })
    }),
    Flaw::new("a purge waits for a restore without end", WRITERS, |notes| {
        let kept = Arc::clone(notes);
        Faults::default().drafts(notes, honest(), pass_on).purge(move |store, (cutoff, limit)| {
            let notes = Arc::clone(&kept);
            async move {
                blocked(notes).await;
                store.purge_expired(cutoff, limit).await
            }
        })
    }),
    Flaw::new("a writer beside a restore is told that the store is corrupt", WRITERS, |notes| {
        adds_beside(notes, honest(), |_, _, _, _| {
            Box::pin(async { Err(StoreError::corrupt("the lock", "nobody has it").into()) })
        })
    }),
    Flaw::new("a restore cannot commit when a writer was refused", WRITERS, |notes| {
        let kept = Arc::clone(notes);
        let commit: Commit = Arc::new(move |store, batches| {
            let refused = kept.last_id.swap(0, Ordering::SeqCst) > 0;
            Box::pin(async move {
                if refused {
                    return Err(StoreError::unavailable("busy"));
                }
                write(&store, batches).await
            })
        });
        adds_beside(notes, commit, |notes, _, _, _| {
            notes.last_id.store(1, Ordering::SeqCst);
            Box::pin(async { Err(StoreError::unavailable("a restore is on").into()) })
        })
    }),
    Flaw::new("a restore is lost when another write comes in between", WRITERS, |notes| {
        let kept = Arc::clone(notes);
        let commit: Commit = Arc::new(move |store, batches| {
            let lost = kept.last_id.swap(0, Ordering::SeqCst) > 0;
            Box::pin(async move { if lost { Ok(()) } else { write(&store, batches).await } })
        });
        adds_beside(notes, commit, |notes, store, pet, request| {
            notes.last_id.store(1, Ordering::SeqCst);
            Box::pin(async move { PetRepository::add(&*store, pet, request).await })
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
                write(&store, vec![Batch::Records(record.into_iter().collect())]).await?;
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
    Flaw::new("new animals of a restore wrap to negative identifiers", HIGHEST, |notes| {
        let commit: Commit = Arc::new(|store, batches| {
            Box::pin(async move {
                let full = is_full(&store).await?;
                let wrapped = batches.into_iter().map(|batch| match batch.clone() {
                    Batch::NewPets(pets) if full => Batch::Pets(
                        (i64::MIN..).zip(pets).map(|(id, pet)| pet.with_id(PetId(id))).collect(),
                    ),
                    Batch::Pets(_) | Batch::NewPets(_) | Batch::Keys(_) | Batch::Records(_) => {
                        batch
                    }
                });
                write(&store, wrapped.collect()).await
            })
        });
        Faults::default().drafts(notes, commit, |_, batches, error| {
            let wraps = batches.last().is_some_and(is_new_pets);
            Box::pin(async move { if wraps { Ok(()) } else { Err(error) } })
        })
    }),
    Flaw::new("the version takes 55 ms", AT_ONCE, |_| slow_version(|_| true)),
    Flaw::new("two of three times the version takes 55 ms", AT_ONCE, |_| {
        slow_version(|call| call % 3 > 0)
    }),
];
