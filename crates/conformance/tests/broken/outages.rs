//! Flaws while the store cannot be reached, and afterwards.

use std::sync::atomic::Ordering;

use petstore_domain::{PetRepository as _, StoreError};

use crate::flaw::Flaw;

const OUTAGE: &[&str] = &["an_unreachable_store_is_unavailable_and_comes_back"];

fn gone() -> StoreError {
    StoreError::unavailable("the connection is gone")
}

pub(crate) const FLAWS: &[Flaw] = &[
    Flaw::new("a call panics during an outage", OUTAGE, |it| {
        it.unreachable.replace(|_, ()| async { panic!("no connection") });
    }),
    Flaw::new("uses of keys are acknowledged during an outage, and lost", OUTAGE, |it| {
        it.forgets_uses = true;
    }),
    Flaw::new("a call does not end during an outage", OUTAGE, |it| {
        it.unreachable.replace(|_, ()| std::future::pending());
    }),
    Flaw::new("a write is acknowledged during an outage", OUTAGE, |it| {
        it.unreachable.replace(|_, ()| async { Ok(()) });
    }),
    Flaw::new("additions still fail after an outage", OUTAGE, |it| {
        it.unreachable.replace(|store, ()| async move {
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
