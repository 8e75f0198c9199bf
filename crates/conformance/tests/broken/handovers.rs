//! Flaws of the state of a store, and of a store that is handed over while it is in use.

use std::sync::atomic::Ordering;

use petstore_domain::{
    Added, Archive as _, CatalogueVersion, Handover as _, KeyStore as _, PetRepository as _, Phase,
    StoreState, StoredKeys, WriterRole,
};
use petstore_memory::MemoryStore;
use tokio::task::yield_now;

use crate::{
    faults::{Faults, Handle, copied},
    flaw::Flaw,
};

/// Replaces the writer of rows by the writer that `change` returns. `change` also sees the state of the store.
pub(crate) fn change_writer(it: &mut Faults, change: fn(WriterRole, &StoreState) -> WriterRole) {
    it.write_rows.replace(move |store, (writer, rows)| async move {
        let writer = change(writer, &store.state().await?);
        store.write_rows(writer, rows).await
    });
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

/// Returns a flaw: the store carries a call out also while it is not open.
macro_rules! unfenced {
    ($what:literal, $fault:ident, $call:ident($input:ident)) => {
        unfenced!($what, $fault, $input, $call($input))
    };
    ($what:literal, $fault:ident, $call:ident($($input:ident),+)) => {
        unfenced!($what, $fault, ($($input),+), $call($($input),+))
    };
    ($what:literal, $fault:ident, $inputs:pat, $call:ident($($input:ident),+)) => {
        Flaw::new($what, &[REFUSES], |it| {
            it.$fault.replace(|store, $inputs| async move {
                unfenced(&store, store.$call($($input),+)).await
            });
        })
    };
}

/// Lets a mover write if `accepts` returns `true` for its revision and the state.
fn accept_mover(it: &mut Faults, accepts: fn(i64, &StoreState) -> bool) {
    it.write_rows.replace(move |store, (writer, rows)| async move {
        let state = store.state().await?;
        let writer = match writer {
            WriterRole::Mover(revision) if accepts(revision, &state) && state.phase.is_open() => {
                WriterRole::Service
            }
            WriterRole::Mover(revision) if accepts(revision, &state) => {
                WriterRole::Mover(state.revision)
            }
            WriterRole::Service | WriterRole::Mover(_) => writer,
        };
        store.write_rows(writer, rows).await
    });
}

/// Adds the count in the notes to the rewrites in the state.
fn add_rewrites(it: &mut Faults) {
    it.state.edit_output(|store, (), state| {
        state.rewrites += store.notes.count.load(Ordering::SeqCst);
    });
}

/// Counts a rewrite if `counts`.
fn rewrite(store: &Handle, counts: bool) {
    store.notes.count.fetch_add(i64::from(counts), Ordering::SeqCst);
}

/// The refused calls are writes of services, and reads of animals.
const REFUSES: &str = "a_store_that_is_not_open_refuses_everything";
const OTHER: &str = "what_another_process_does_shows_here";
const SEALS: &str = "nothing_is_added_after_any_of_many_seals";
/// A state is replaced only if the stored revision is the expected one.
const REPLACED: &str = "a_state_is_replaced_by_its_revision_and_lasts";
const FILLS: &str = "a_mover_writes_only_to_the_store_that_it_fills";
const REWRITES: &str = "every_change_but_an_addition_is_a_rewrite";
const READS: &str = "a_sealed_store_is_read_by_handles_opened_for_it";

pub(crate) const FLAWS: &[Flaw] = &[
    unfenced!("a store that is not open lists animals", list, list(query)),
    unfenced!("a store that is not open finds animals", find, find(id)),
    Flaw::new("a store that is not open adds animals", &[REFUSES, READS], |it| {
        it.add.replace(|store, (pet, request)| async move {
            let add = store.add(pet, request);
            if request.is_none() { unfenced(&store, add).await } else { add.await }
        });
    }),
    Flaw::new("a store that is not open adds animals with a request", &[REFUSES], |it| {
        it.add.replace(|store, (pet, request)| async move {
            let add = store.add(pet, request);
            if request.is_some() { unfenced(&store, add).await } else { add.await }
        });
    }),
    unfenced!("a store that is not open adds many animals", add_new, add_new(pets, request)),
    unfenced!("a store that is not open purges", purge, purge_expired(cutoff, limit)),
    unfenced!("a store that is not open saves keys", save, save(expected, changed, removed)),
    unfenced!("a store that is not open notes uses", note_uses, note_uses(uses)),
    Flaw::new("a store that is not open loads no keys", &[REFUSES], |it| {
        it.load.replace(|store, unless| async move {
            let is_open = store.state().await?.phase.is_open();
            let loaded = store.load(unless).await?;
            let empty = |loaded| StoredKeys { keys: Vec::new(), ..loaded };
            Ok(if is_open { loaded } else { loaded.map(empty) })
        });
    }),
    Flaw::new("a store that is filled is read like a sealed one", &[READS], |it| {
        it.list.replace(|store, query| async move {
            let is_filling = matches!(store.state().await?.phase, Phase::Filling { .. });
            let list = store.list(query);
            if is_filling { unfenced(&store, list).await } else { list.await }
        });
    }),
    Flaw::new("a list of a sealed store is empty", &[READS], |it| {
        it.list.edit_output(|_, _, list| list.value.pets.retain(|_| list.version.is_some()));
    }),
    Flaw::new("a sealed store finds no animal", &[READS], |it| {
        it.find.edit_output(|_, _, found| _ = found.value.take_if(|_| found.version.is_none()));
    }),
    Flaw::new("an animal of a sealed store has a version", &[READS], |it| {
        it.find.edit_output(|_, _, pet| pet.version = pet.version.or(Some(CatalogueVersion(7))));
    }),
    Flaw::new("a list of a sealed store has a version", &[READS], |it| {
        it.list.edit_output(|_, _, list| list.version = list.version.or(Some(CatalogueVersion(7))));
    }),
    Flaw::new(
        "a handle notices only its own changes of the state",
        &[REFUSES, SEALS, OTHER],
        |it| {
            it.change_state.replace(|store, (expected, new)| async move {
                store.own.flag.store(!new.phase.is_open(), Ordering::SeqCst);
                store.change_state(expected, new).await
            });
            it.list.replace(|store, query| async move {
                if store.own.flag.load(Ordering::SeqCst) {
                    return store.list(query).await;
                }
                unfenced(&store, store.list(query)).await
            });
        },
    )
    .on_one_thread(),
    Flaw::new("an addition checks the state in another transaction", &[SEALS], |it| {
        it.add.replace(|store, (pet, request)| async move {
            store.state().await?.permit_write(WriterRole::Service)?;
            yield_now().await;
            unfenced(&store, store.add(pet, request)).await
        });
    })
    .on_one_thread(),
    Flaw::new(
        "after a seal, a handle has no version even when the store is open again",
        &[SEALS],
        |it| {
            it.own_version = |store, version| {
                store.own.flag.fetch_or(version.is_none(), Ordering::SeqCst);
                version.filter(|_| !store.own.flag.load(Ordering::SeqCst))
            };
        },
    ),
    Flaw::new("a sealed store keeps its version", &[REFUSES, READS], |it| {
        it.own_version = |store, version| {
            let last = &mut store.own.seen.lock().unwrap().version;
            *last = version.or(*last);
            *last
        };
    }),
    Flaw::new("a change of the state may expect an older revision", &[REPLACED], |it| {
        it.change_state.replace(|store, (expected, new)| async move {
            let stored = store.state().await?.revision;
            store.change_state(expected.max(stored), new).await
        });
    }),
    Flaw::new("a change of the state may expect a later revision", &[REPLACED], |it| {
        it.change_state.replace(|store, (expected, new)| async move {
            let stored = store.state().await?.revision;
            store.change_state(expected.min(stored), new).await
        });
    }),
    Flaw::new(
        "a change of the state compares the revision in one transaction and writes in another",
        &[REPLACED],
        |it| {
            it.change_state.replace(|store, (expected, new)| async move {
                if store.state().await?.revision != expected {
                    return Ok(false);
                }
                yield_now().await;
                let expected = store.state().await?.revision;
                store.change_state(expected, new).await
            });
        },
    )
    .on_one_thread(),
    Flaw::new(
        "a change of the state ignores the new revision, and stores the next one",
        &[REPLACED],
        |it| it.change_state.edit_input(|(expected, new)| new.revision = *expected + 1),
    ),
    Flaw::new("a change of the state stores the given rewrites", &[REPLACED], |it| {
        it.change_state.replace(|store, (expected, new)| async move {
            let rewrites = new.rewrites - store.state().await?.rewrites;
            let changed = store.change_state(expected, new).await?;
            if changed {
                store.notes.count.store(rewrites, Ordering::SeqCst);
            }
            Ok(changed)
        });
        add_rewrites(it);
    }),
    Flaw::new("a change of the state forgets the rewrites", &[REWRITES], |it| {
        it.state.edit_output(|_, (), state| {
            if state.revision > 0 {
                state.rewrites = 0;
            }
        });
    }),
    Flaw::new("no write of rows is a rewrite", &[REWRITES], |it| {
        it.state.edit_output(|_, (), state| state.rewrites = 0);
    }),
    Flaw::new("an addition without a request is a rewrite", &[REWRITES], |it| {
        it.add.edit_output(|store, (_, request), _| rewrite(store, request.is_none()));
        add_rewrites(it);
    }),
    Flaw::new("an addition with a request is a rewrite", &[REWRITES], |it| {
        it.add.edit_output(|store, (_, request), _| rewrite(store, request.is_some()));
        add_rewrites(it);
    }),
    Flaw::new("an addition of many animals is a rewrite", &[REWRITES], |it| {
        it.add_new.edit_output(|store, _, _| rewrite(store, true));
        add_rewrites(it);
    }),
    Flaw::new("a purge is a rewrite", &[REWRITES], |it| {
        it.purge.edit_output(|store, _, _| rewrite(store, true));
        add_rewrites(it);
    }),
    Flaw::new("a save of keys is a rewrite", &[REWRITES], |it| {
        it.save.edit_output(|store, _, _| rewrite(store, true));
        add_rewrites(it);
    }),
    Flaw::new("every write of rows is a rewrite", &[REWRITES], |it| {
        it.write_rows.edit_output(|store, _, _| rewrite(store, true));
        add_rewrites(it);
    }),
    Flaw::new("every store has the same identity", &[REPLACED], |it| {
        it.state.edit_output(|_, (), state| {
            if state.revision == 0 {
                state.id.0 = [1; 16];
            }
        });
    }),
    Flaw::new("a store that is filled accepts rows of an earlier mover", &[FILLS], |it| {
        accept_mover(it, |revision, state| !state.phase.is_open() && revision < state.revision);
    }),
    Flaw::new("a store that is filled accepts rows of a later mover", &[FILLS], |it| {
        accept_mover(it, |revision, state| !state.phase.is_open() && revision > state.revision);
    }),
    Flaw::new("an open store accepts rows of its last mover", &[FILLS], |it| {
        accept_mover(it, |revision, state| state.phase.is_open() && revision < state.revision);
    }),
    Flaw::new("an open store accepts rows of a mover at its revision", &[FILLS], |it| {
        accept_mover(it, |revision, state| state.phase.is_open() && revision == state.revision);
    }),
    Flaw::new("no handle reads a sealed store", &[READS], |it| {
        it.list.replace(|store, query| async move {
            store.state().await?.permit_read(false)?;
            store.list(query).await
        });
    }),
    Flaw::new(
        "a snapshot lacks an animal that is being added, and shows later ones",
        &["a_snapshot_is_complete_up_to_its_last_animal"],
        |it| {
            it.add.replace(|store, (pet, request)| async move {
                let added = store.add(pet, request).await?;
                let Added::Created(pet) = &added else { return Ok(added) };
                store.notes.hidden.lock().unwrap().insert(pet.id);
                yield_now().await;
                store.notes.hidden.lock().unwrap().remove(&pet.id);
                Ok(added)
            });
            it.snapshot.replace(|store, ()| async move {
                let hidden = store.notes.hidden.lock().unwrap().iter().min().copied();
                let Some(id) = hidden else { return store.snapshot().await };
                let changed = copied(&store, |rows| rows.pets.retain(|pet| pet.id != id)).await?;
                changed.snapshot().await
            });
        },
    )
    .on_one_thread(),
];
