//! Flaws while the store cannot be reached, and afterwards.

use std::sync::atomic::Ordering;

use petstore_domain::{PetRepository as _, StoreError};

use crate::{faults::Faults, flaw::Flaw};

const OUTAGE: &[&str] = &["an_unreachable_store_is_unavailable_and_comes_back"];

fn gone() -> StoreError {
    StoreError::unavailable("the connection is gone")
}

/// Carries calls of one kind out although the store cannot be reached.
fn carry_out(it: &mut Faults, kind: &'static str) {
    it.unreachable
        .replace(move |_, call| async move { if call == kind { Ok(()) } else { Err(gone()) } });
}

/// Never ends calls of one kind while the store cannot be reached.
fn hang(it: &mut Faults, kind: &'static str) {
    it.unreachable.replace(move |_, call| async move {
        if call == kind { std::future::pending().await } else { Err(gone()) }
    });
}

pub(crate) const FLAWS: &[Flaw] = &[
    Flaw::new("a call is refused during an outage", OUTAGE, |it| {
        it.unreachable.replace(|_, _| async { Err(StoreError::refused("there is no connection")) });
    }),
    Flaw::new("an addition does not end during an outage", OUTAGE, |it| hang(it, "add")),
    Flaw::new("a list does not end during an outage", OUTAGE, |it| hang(it, "list")),
    Flaw::new("a load of keys does not end during an outage", OUTAGE, |it| hang(it, "load")),
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
    Flaw::new("additions still fail after an outage", OUTAGE, |it| {
        it.unreachable.replace(|store, _| async move {
            store.notes.flag.store(true, Ordering::Relaxed);
            Err(gone())
        });
        it.add.replace(|store, (pet, request)| async move {
            if store.notes.flag.load(Ordering::Relaxed) {
                return Err(gone().into());
            }
            store.add(pet, request).await
        });
    }),
];
