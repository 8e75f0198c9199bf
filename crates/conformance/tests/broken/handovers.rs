//! Flaws of the state of a store, and of a store that is handed over while it is in use.

use std::{
    sync::{
        Arc, Mutex,
        atomic::{AtomicBool, Ordering},
    },
    time::{Duration, Instant},
};

use petstore_domain::{
    Archive as _, Handover as _, PetPage, PetQuery, PetRepository, Phase, StoreError, StoreState,
    Versioned, WriterRole,
};
use petstore_memory::MemoryStore;
use tokio::task::yield_now;

use crate::{
    faults::{Faults, Version},
    flaw::Flaw,
};

/// Replaces the writer of rows by the writer that `change` returns. `change` also sees the state of the store.
pub(crate) fn written_by(change: fn(WriterRole, &StoreState) -> WriterRole) -> Faults {
    Faults::default().write_rows(move |store, (writer, rows)| async move {
        let writer = change(writer, &store.state().await?);
        store.write_rows(writer, rows).await
    })
}

/// Edits the expected revision and the new state by `change`, which also sees the stored state.
fn changes(change: fn(&mut i64, &mut StoreState, &StoreState)) -> Faults {
    Faults::default().change_state(move |store, (mut expected, mut new)| async move {
        change(&mut expected, &mut new, &store.state().await?);
        store.change_state(expected, new).await
    })
}

/// Opens the store for the time of the call, and then restores its state.
async fn unfenced<T>(store: &MemoryStore, call: impl Future<Output = T>) -> T {
    let state = store.state().await.unwrap();
    let open = StoreState { phase: Phase::Open { from: None }, ..state.clone() };
    store.change_state(state.revision, open).await.unwrap();
    let result = call.await;
    store.change_state(state.revision, state).await.unwrap();
    result
}

/// Lists from a store that is not open, and without a version, if `believes(None)` returns `true`. In all other cases,
/// tells `believes` whether the store is open, and lists as usual.
fn lists_while(
    believes: impl Fn(Option<bool>) -> bool + Clone + Send + Sync + 'static,
    faults: Faults,
) -> Faults {
    faults.list(move |store, query: PetQuery| {
        let believes = believes.clone();
        async move {
            let is_open = store.state().await?.phase.is_open();
            let list = PetRepository::list(&*store, query);
            if !is_open && believes(None) {
                let Versioned { value, .. } = unfenced(&store, list).await?;
                return Ok::<Versioned<PetPage>, StoreError>(Versioned { value, version: None });
            }
            believes(Some(is_open));
            list.await
        }
    })
}

/// A handle that notices only its own changes of the state.
fn own_changes_alone() -> Faults {
    let sealed = Arc::new(AtomicBool::new(false));
    let seals = Arc::clone(&sealed);
    let faults = Faults::default().change_state(move |store, (expected, new)| {
        seals.store(!new.phase.is_open(), Ordering::SeqCst);
        async move { store.change_state(expected, new).await }
    });
    lists_while(move |_| !sealed.load(Ordering::SeqCst), faults)
}

/// A handle that uses a state for 30 ms after it was read.
fn cached_state() -> Faults {
    let seen: Arc<Mutex<Option<Instant>>> = Arc::default();
    let believes = move |is_open: Option<bool>| {
        let mut seen = seen.lock().unwrap();
        if let Some(is_open) = is_open {
            *seen = is_open.then(Instant::now);
        }
        seen.is_some_and(|at| at.elapsed() < Duration::from_millis(30))
    };
    lists_while(believes, Faults::default())
}

/// Checks that the store is open, yields to other tasks, and then adds.
fn checked_before() -> Faults {
    Faults::default().add(|store, (pet, request)| async move {
        store.state().await?.permit_write(WriterRole::Service)?;
        yield_now().await;
        unfenced(&store, PetRepository::add(&*store, pet, request)).await
    })
}

/// The refused calls are writes of services, and reads of animals.
const REFUSES: &str = "a_store_that_is_not_open_refuses_everything";
const SEALS: &str = "nothing_is_added_after_any_of_many_seals";
/// A state is replaced only if the stored revision is the expected one.
const REPLACED: &str = "a_state_is_replaced_by_its_revision_and_lasts";
const FILLS: &str = "a_mover_writes_only_to_the_store_that_it_fills";
const REWRITES: &str = "every_change_but_an_addition_is_a_rewrite";
const READS: &str = "a_sealed_store_is_read_by_handles_opened_for_it";

pub(crate) const FLAWS: &[Flaw] = &[
    Flaw::new(
        "a sealed store accepts additions and lists animals",
        &[REFUSES, SEALS, READS],
        |_| {
            Faults::default()
                .add(|store, (pet, request)| async move {
                    unfenced(&store, PetRepository::add(&*store, pet, request)).await
                })
                .list(|store, query| async move {
                    unfenced(&store, PetRepository::list(&*store, query)).await
                })
        },
    )
    .on_one_thread(),
    Flaw::new("a handle notices only its own changes of the state", &[REFUSES, SEALS], |_| {
        own_changes_alone()
    })
    .on_one_thread(),
    Flaw::new("a handle lists animals by a state that is up to 30 ms old", &[REFUSES], |_| {
        cached_state()
    })
    .on_one_thread(),
    Flaw::new("an addition checks the state in another transaction", &[SEALS], |_| {
        checked_before()
    })
    .on_one_thread(),
    Flaw::new(
        "after a seal, a handle has no version even when the store is open again",
        &[SEALS],
        |_| {
            let is_dead = AtomicBool::new(false);
            let own_version = move |version: Version| {
                is_dead.fetch_or(version.is_none(), Ordering::SeqCst);
                version.filter(|_| !is_dead.load(Ordering::SeqCst))
            };
            Faults { own_version: Some(Arc::new(own_version)), ..Faults::default() }
        },
    ),
    Flaw::new("a sealed store keeps its version", &[REFUSES, READS], |_| {
        let last: Mutex<Version> = Mutex::default();
        let own_version = move |version: Version| {
            let mut last = last.lock().unwrap();
            *last = version.or(*last);
            *last
        };
        Faults { own_version: Some(Arc::new(own_version)), ..Faults::default() }
    }),
    Flaw::new("a change of the state does not compare the revision", &[REPLACED], |_| {
        changes(|expected, _, stored| *expected = stored.revision)
    }),
    Flaw::new(
        "a change of the state ignores the new revision, and stores the next one",
        &[REPLACED],
        |_| changes(|expected, new, _| new.revision = *expected + 1),
    ),
    Flaw::new("a change of the state stores the given rewrites", &[REPLACED], |notes| {
        let (takes, taken) = (Arc::clone(notes), Arc::clone(notes));
        Faults::default()
            .change_state(move |store, (expected, new)| {
                let notes = Arc::clone(&takes);
                async move {
                    let rewrites = new.rewrites - store.state().await?.rewrites;
                    let changed = store.change_state(expected, new).await?;
                    if changed {
                        notes.offset.store(rewrites, Ordering::SeqCst);
                    }
                    Ok(changed)
                }
            })
            .state(move |store, ()| {
                let offset = taken.offset.load(Ordering::SeqCst);
                async move {
                    let state = store.state().await?;
                    Ok(StoreState { rewrites: state.rewrites + offset, ..state })
                }
            })
    }),
    Flaw::new("a change of the state forgets the rewrites", &[REWRITES], |_| {
        Faults::default().state(|store, ()| async move {
            let state = store.state().await?;
            let rewrites = if state.revision > 0 { 0 } else { state.rewrites };
            Ok(StoreState { rewrites, ..state })
        })
    }),
    Flaw::new("every write of rows is a rewrite", &[REWRITES], |notes| {
        let (writes, written) = (Arc::clone(notes), Arc::clone(notes));
        Faults::default()
            .write_rows(move |store, (writer, rows)| {
                writes.offset.fetch_add(1, Ordering::SeqCst);
                async move { store.write_rows(writer, rows).await }
            })
            .state(move |store, ()| {
                let offset = written.offset.load(Ordering::SeqCst);
                async move {
                    let state = store.state().await?;
                    Ok(StoreState { rewrites: state.rewrites + offset, ..state })
                }
            })
    }),
    Flaw::new("every store has the same identity", &[REPLACED], |_| {
        Faults::default().state(|store, ()| async move {
            let mut state = store.state().await?;
            if state.revision == 0 {
                state.id.0 = [1; 16];
            }
            Ok(state)
        })
    }),
    Flaw::new("a store that is filled accepts rows of any mover", &[FILLS], |_| {
        written_by(|writer, state| match writer {
            WriterRole::Service => writer,
            WriterRole::Mover(_) => WriterRole::Mover(state.revision),
        })
    }),
    Flaw::new("an open store accepts rows of a mover", &[FILLS], |_| {
        written_by(|writer, state| if state.phase.is_open() { WriterRole::Service } else { writer })
    }),
    Flaw::new("no handle reads a sealed store", &[READS], |_| {
        Faults::default().list(|store, query| async move {
            store.state().await?.permit_read(false)?;
            PetRepository::list(&*store, query).await
        })
    }),
    Flaw::new(
        "a snapshot lacks an animal that is being added, and shows later ones",
        &["a_snapshot_is_complete_up_to_its_last_animal"],
        |notes| {
            let (adds, lists) = (Arc::clone(notes), Arc::clone(notes));
            let faults = Faults::default().add(move |store, (pet, request)| {
                let notes = Arc::clone(&adds);
                async move {
                    let added = PetRepository::add(&*store, pet, request).await?;
                    let petstore_domain::Added::Created(pet) = &added else { return Ok(added) };
                    notes.hidden.lock().unwrap().insert(pet.id);
                    yield_now().await;
                    notes.hidden.lock().unwrap().remove(&pet.id);
                    Ok(added)
                }
            });
            faults.snapshot(move |store, ()| {
                let hidden = lists.hidden.lock().unwrap().iter().min().copied();
                async move {
                    if let Some(id) = hidden {
                        let mut snapshot = store.snapshot().await?;
                        let content = MemoryStore::new();
                        let mut rows = petstore_domain::Rows {
                            pets: snapshot.pets(None, u32::MAX).await?,
                            keys: snapshot.keys().await?,
                            records: snapshot.records(None, u32::MAX).await?,
                            highest: snapshot.highest_ids().await?,
                        };
                        rows.pets.retain(|pet| pet.id != id);
                        content.write_rows(WriterRole::Service, rows).await.unwrap();
                        return content.snapshot().await;
                    }
                    store.snapshot().await
                }
            })
        },
    )
    .on_one_thread(),
];
