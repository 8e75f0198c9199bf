//! Flaws of the state of a store, and of a store that is handed over while it is in use.

use std::{sync::atomic::Ordering, time::Duration};

use petstore_domain::{
    Added, Archive as _, CatalogueVersion, Handover as _, PetId, PetRepository as _, Phase,
    StoreId, StoreState, WriterRole,
};
use tokio::{task::yield_now, time::sleep};

use crate::{
    faults::{
        Answer::{AsUsual, CarriedOut, RefusedAndCarriedOut, Unavailable},
        Faults, copied, unfenced,
    },
    flaw::Flaw,
    names::{COMPLETE, ELSEWHERE, FILLS, REFUSES, REPLACED, REWRITES, SEALED, SEALS},
};

/// The calls that a store refuses while it is not open, the promises that notice another answer, and the phase with the
/// other answer; any if it is empty. The first three calls are reads.
const REFUSED: [(&str, &[&str], &str); 13] = [
    ("list", &[REFUSES, SEALED, SEALS, ELSEWHERE], ""),
    ("find", &[REFUSES], ""),
    ("find none", &[REFUSES], "sealed"),
    ("add", &[REFUSES, SEALED], ""),
    ("add once", &[REFUSES], "filling"),
    ("add many", &[REFUSES], "sealed"),
    ("purge", &[REFUSES], "filling"),
    ("save", &[REFUSES], "sealed"),
    ("remove", &[REFUSES], "filling"),
    ("note", &[REFUSES], "sealed"),
    ("write animals", &[REFUSES], "filling"),
    ("write keys", &[REFUSES], "sealed"),
    ("write records", &[REFUSES], "filling"),
];

type Applies = fn(i64, &StoreState) -> bool;
type Expect = fn(i64, i64) -> i64;

/// Movers whose rows a store refuses, by their revision and the state of the store.
const MOVERS: [(&str, Applies); 6] = [
    ("an earlier mover", |mover, now| !now.phase.is_open() && mover < now.revision),
    ("a later mover", |mover, now| !now.phase.is_open() && mover > now.revision),
    ("a mover of a sealed store", |mover, now| {
        matches!(now.phase, Phase::Sealed { .. }) && mover == now.revision
    }),
    ("the last mover of an open store", |mover, now| now.phase.is_open() && mover < now.revision),
    ("a mover of a new store", |mover, now| {
        now.phase == Phase::Open { from: None } && mover == now.revision
    }),
    ("a mover of an open store", |mover, now| {
        matches!(now.phase, Phase::Open { from: Some(_) }) && mover == now.revision
    }),
];

/// Returns a flaw for each call that is refused, and each wrong answer.
pub(crate) fn flaws() -> Vec<Flaw> {
    let mut flaws = Vec::new();
    for how in [CarriedOut, RefusedAndCarriedOut, Unavailable] {
        let reads = if how == RefusedAndCarriedOut { 3 } else { 0 };
        for (kind, caught_by, phase) in REFUSED.into_iter().skip(reads) {
            let what = format!("while a store is not open, '{kind}' is {how:?}");
            flaws.push(Flaw::made(what, caught_by, move |it| {
                // A handle that was opened later answers as usual.
                it.answer = Box::new(move |store, call, state| {
                    let is_open = state.phase.is_open();
                    let was_open = store.own.flag.fetch_or(is_open, Ordering::SeqCst);
                    let is_due = was_open && !is_open && state.phase.parts().0.contains(phase);
                    if is_due && call == kind { how } else { AsUsual }
                });
            }));
        }
        for (mover, applies) in MOVERS {
            flaws.push(Flaw::made(format!("rows of {mover} are {how:?}"), &[FILLS], move |it| {
                it.write_rows.replace(move |store, (writer, rows)| async move {
                    let state = store.state().await?;
                    let applies = |revision| applies(revision, &state);
                    if !matches!(writer, WriterRole::Mover(revision) if applies(revision)) {
                        return store.write_rows(writer, rows).await;
                    }
                    how.to(&store, store.write_rows(WriterRole::Service, rows)).await
                });
            }));
        }
    }
    let expected: [(&str, Expect); 2] = [("an older", i64::max), ("a later", i64::min)];
    for (which, expect) in expected {
        let what = format!("a change of the state may expect {which} revision");
        flaws.push(Flaw::made(what, &[REPLACED], move |it| {
            it.change_state.replace(move |store, (expected, new)| async move {
                let stored = store.state().await?.revision;
                store.change_state(expect(expected, stored), new).await
            });
        }));
    }
    for kind in ["add", "add once", "add many", "purge", "save", "write animals"] {
        flaws.push(Flaw::made(format!("'{kind}' is a rewrite"), &[REWRITES], move |it| {
            it.answer = Box::new(move |store, call, _| {
                store.notes.count.fetch_add(i64::from(call == kind), Ordering::SeqCst);
                AsUsual
            });
            add_rewrites(it);
        }));
    }
    flaws
}

/// Adds the count in the notes to the rewrites in the state.
fn add_rewrites(it: &mut Faults) {
    it.state.edit_output(|store, (), state| {
        state.rewrites += store.notes.count.load(Ordering::SeqCst);
    });
}

pub(crate) const FLAWS: &[Flaw] = &[
    Flaw::new("a store that is filled is read like a sealed one", &[SEALED], |it| {
        it.list.replace(|store, query| async move {
            let is_filling = matches!(store.state().await?.phase, Phase::Filling { .. });
            let list = store.list(query);
            if is_filling { unfenced(&store, list).await } else { list.await }
        });
    }),
    Flaw::new("an animal of a sealed store has a version", &[SEALED], |it| {
        it.find.edit_output(|_, _, pet| pet.version = pet.version.or(Some(CatalogueVersion(7))));
    }),
    Flaw::new("a list of a sealed store has a version", &[SEALED], |it| {
        it.list.edit_output(|_, _, list| list.version = list.version.or(Some(CatalogueVersion(7))));
    }),
    Flaw::new("a handle notices its own seals only", &[REFUSES, SEALS, ELSEWHERE], |it| {
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
    })
    .on_one_thread(),
    Flaw::new("a store that was filled loses additions", &[REFUSES, REPLACED, SEALED], |it| {
        it.add.replace(|store, (pet, request)| async move {
            let added = store.add(pet, request).await?;
            if let Added::Created(pet) = &added
                && store.state().await?.revision > 2
            {
                let _ = store.delete_pet(pet.id);
            }
            Ok(added)
        });
    }),
    Flaw::new("the first addition that a seal refuses is acknowledged", &[SEALS], |it| {
        it.add.replace(|store, (pet, request)| async move {
            let added = store.add(pet.clone(), request).await;
            if added.is_err() && !store.own.flag.swap(true, Ordering::SeqCst) {
                return Ok(Added::Created(pet.with_id(PetId(77_777))));
            }
            added
        });
    }),
    Flaw::new("an addition that a seal refuses is carried out later", &[SEALS], |it| {
        it.add.replace(|store, (pet, request)| async move {
            let added = store.add(pet.clone(), request).await;
            if added.is_err() {
                sleep(Duration::from_millis(1)).await;
                unfenced(&store, store.add(pet, request)).await?;
            }
            added
        });
    }),
    Flaw::new("an addition checks the state in another transaction", &[SEALS], |it| {
        it.add.replace(|store, (pet, request)| async move {
            store.state().await?.permit_write(WriterRole::Service)?;
            yield_now().await;
            unfenced(&store, store.add(pet, request)).await
        });
    })
    .on_one_thread(),
    Flaw::new("after a seal, a handle keeps its version", &[SEALS], |it| {
        it.own_version = |store, version| {
            let first = &mut store.own.seen.lock().unwrap().version;
            let was_sealed = store.own.flag.fetch_or(version.is_none(), Ordering::SeqCst);
            *first = version.and(first.or(version));
            if was_sealed { *first } else { version }
        };
    }),
    Flaw::new("a snapshot of a store that is not open has no keys", &[REFUSES], |it| {
        it.snapshot.replace(|store, ()| async move {
            if store.state().await?.phase.is_open() {
                return store.snapshot().await;
            }
            copied(&store, |rows| rows.keys.clear()).await?.snapshot().await
        });
    }),
    Flaw::new("a refused addition uses up an identifier", &[REFUSES], |it| {
        it.add.replace(|store, (pet, request)| async move {
            let added = store.add(pet.clone(), request).await;
            if added.is_err()
                && let Added::Created(pet) = unfenced(&store, store.add(pet, None)).await?
            {
                let _ = store.delete_pet(pet.id);
            }
            added
        });
    }),
    Flaw::new("a new store has taken the place of another", &[REPLACED], |it| {
        it.state.edit_output(|_, (), state| {
            if state.revision == 0 {
                state.phase = Phase::Open { from: Some(StoreId([1; 16])) };
            }
        });
    }),
    Flaw::new("a sealed store keeps its version", &[REFUSES, SEALED], |it| {
        it.own_version = |store, version| {
            let last = &mut store.own.seen.lock().unwrap().version;
            *last = version.or(*last);
            *last
        };
    }),
    Flaw::new("a change of the state compares in another transaction", &[REPLACED], |it| {
        it.change_state.replace(|store, (expected, new)| async move {
            if store.state().await?.revision != expected {
                return Ok(false);
            }
            yield_now().await;
            let expected = store.state().await?.revision;
            store.change_state(expected, new).await
        });
    })
    .on_one_thread(),
    Flaw::new("a change of the state stores the next revision", &[REPLACED], |it| {
        it.change_state.edit_input(|(expected, new)| new.revision = *expected + 1);
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
    Flaw::new("every store has the same identity", &[REPLACED], |it| {
        it.state.edit_output(|_, (), state| {
            if state.revision == 0 {
                state.id.0 = [1; 16];
            }
        });
    }),
    Flaw::new("a snapshot lacks an animal before its last one", &[COMPLETE], |it| {
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
    })
    .on_one_thread(),
];
