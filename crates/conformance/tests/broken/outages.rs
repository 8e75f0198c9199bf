//! Flaws while the store cannot be reached, and afterwards.

use std::time::{Duration, Instant};

use petstore_domain::{AddError, PetRepository as _, StoreError};
use tokio::time::sleep;

use crate::{faults::Faults, flaw::Flaw};

const OUTAGE: &[&str] = &["an_unreachable_store_is_unavailable_and_comes_back"];

/// A time longer than the limit of a call during an outage.
const LONG: Duration = Duration::from_secs(2);

fn gone() -> StoreError {
    StoreError::unavailable("the connection is gone")
}

/// Carries calls of one kind out although the store cannot be reached.
fn carry_out(it: &mut Faults, kind: &'static str) {
    it.unreachable
        .replace(move |_, call| async move { if call == kind { Ok(()) } else { Err(gone()) } });
}

/// Fails calls of one kind only after two seconds while the store cannot be reached.
fn delay(it: &mut Faults, kind: &'static str) {
    it.unreachable.replace(move |_, call| async move {
        sleep(if call == kind { LONG } else { Duration::ZERO }).await;
        Err(gone())
    });
}

pub(crate) const FLAWS: &[Flaw] = &[
    Flaw::new("a call is refused during an outage", OUTAGE, |it| {
        it.unreachable.replace(|_, _| async { Err(StoreError::refused("there is no connection")) });
    }),
    Flaw::new("an addition takes two seconds during an outage", OUTAGE, |it| delay(it, "add")),
    Flaw::new("a list takes two seconds during an outage", OUTAGE, |it| delay(it, "list")),
    Flaw::new("a load of keys takes two seconds during an outage", OUTAGE, |it| delay(it, "load")),
    Flaw::new("an outage stops no addition", OUTAGE, |it| carry_out(it, "add")),
    Flaw::new("an outage stops no addition with a request", OUTAGE, |it| carry_out(it, "add once")),
    Flaw::new("an outage stops no purge", OUTAGE, |it| carry_out(it, "purge")),
    Flaw::new("an outage stops no save of keys", OUTAGE, |it| carry_out(it, "save")),
    Flaw::new("an outage stops no removal of keys", OUTAGE, |it| carry_out(it, "remove")),
    Flaw::new("an outage stops no note of a use", OUTAGE, |it| carry_out(it, "note")),
    Flaw::new("a list is empty during an outage", OUTAGE, |it| {
        carry_out(it, "list");
        it.list.edit_output(|store, _, list| list.value.pets.retain(|_| !store.is_cut_off()));
    }),
    Flaw::new("no key is loaded during an outage", OUTAGE, |it| {
        carry_out(it, "load");
        it.load.edit_output(|store, _, loaded| {
            let keys = loaded.iter_mut().map(|loaded| &mut loaded.keys);
            keys.for_each(|keys| keys.retain(|_| !store.is_cut_off()));
        });
    }),
    Flaw::new("an addition during an outage is stored without its record", OUTAGE, |it| {
        carry_out(it, "add once");
        it.add.replace(|store, (pet, request)| async move {
            if !store.is_cut_off() {
                return store.add(pet, request).await;
            }
            store.add(pet, None).await?;
            Err(gone().into())
        });
    }),
    Flaw::new("an idempotency key counts as reused during an outage", OUTAGE, |it| {
        carry_out(it, "add once");
        it.add.replace(|store, (pet, request)| async move {
            if store.is_cut_off() {
                return Err(AddError::IdempotencyKeyReused);
            }
            store.add(pet, request).await
        });
    }),
    Flaw::new("the animal from before an outage is lost", OUTAGE, |it| {
        it.list.edit_output(|_, _, list| list.value.pets.retain(|pet| pet.category_id.0 != 2));
    }),
    Flaw::new("additions still fail two seconds after an outage", OUTAGE, |it| {
        it.unreachable.replace(|store, _| async move {
            store.notes.seen.lock().unwrap().at = Some(Instant::now());
            Err(gone())
        });
        it.add.replace(|store, (pet, request)| async move {
            let failed = store.notes.seen.lock().unwrap().at;
            if failed.is_some_and(|at| at.elapsed() < LONG) {
                return Err(gone().into());
            }
            store.add(pet, request).await
        });
    }),
];
