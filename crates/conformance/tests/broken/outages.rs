//! Flaws while the store cannot be reached, and afterwards.

use std::time::{Duration, Instant};

use petstore_domain::{PetRepository as _, StoreError};

use crate::{
    faults::{
        Answer::{self, AsUsual, Late, Refused, Unavailable},
        Faults,
    },
    flaw::Flaw,
    names::OUTAGE,
};

fn gone() -> StoreError {
    StoreError::unavailable("the connection is gone")
}

/// Gives calls of one kind another answer while the store cannot be reached.
fn answer(it: &mut Faults, kind: &'static str, answer: Answer) {
    it.answer = Box::new(move |store, call, _| match (store.is_cut_off(), call == kind) {
        (false, _) => AsUsual,
        (true, false) => Unavailable,
        (true, true) => answer,
    });
}

/// Returns flaws of each kind of call. The first six kinds are writes, which must fail.
pub(crate) fn flaws() -> Vec<Flaw> {
    let mut flaws = Vec::new();
    for (how, kinds) in [(AsUsual, 6), (Refused, 8), (Late, 8)] {
        let all = ["add", "add once", "purge", "save", "remove", "note", "list", "load"];
        flaws.extend(all.into_iter().take(kinds).map(|kind| {
            let what = format!("'{kind}' is {how:?} during an outage");
            Flaw::made(what, &[OUTAGE], move |it| answer(it, kind, how))
        }));
    }
    flaws
}

pub(crate) const FLAWS: &[Flaw] = &[
    Flaw::new("a list is empty during an outage", &[OUTAGE], |it| {
        answer(it, "list", AsUsual);
        it.list.edit_output(|store, _, list| list.value.pets.retain(|_| !store.is_cut_off()));
    }),
    Flaw::new("an addition during an outage is stored without its record", &[OUTAGE], |it| {
        answer(it, "add once", AsUsual);
        it.add.replace(|store, (pet, request)| async move {
            if !store.is_cut_off() {
                return store.add(pet, request).await;
            }
            store.add(pet, None).await?;
            Err(gone().into())
        });
    }),
    Flaw::new("the animal from before an outage is lost", &[OUTAGE], |it| {
        it.list.edit_output(|_, _, list| list.value.pets.retain(|pet| pet.category_id.0 != 2));
    }),
    Flaw::new("additions still fail two seconds after an outage", &[OUTAGE], |it| {
        it.answer = Box::new(|store, _, _| {
            if store.is_cut_off() {
                store.notes.seen.lock().unwrap().at = Some(Instant::now());
                return Unavailable;
            }
            AsUsual
        });
        it.add.replace(|store, (pet, request)| async move {
            let failed = store.notes.seen.lock().unwrap().at;
            if failed.is_some_and(|at| at.elapsed() < Duration::from_secs(2)) {
                return Err(gone().into());
            }
            store.add(pet, request).await
        });
    }),
];
