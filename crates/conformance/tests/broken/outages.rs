//! Flaws while the store cannot be reached, and afterwards.

use std::sync::{Arc, atomic::Ordering};

use petstore_domain::{PetRepository, StoreError};

use crate::{faults::Faults, flaw::Flaw};

const EVERY: &[&str] = &["an_unreachable_store_is_unavailable_and_comes_back"];

pub(crate) const FLAWS: &[Flaw] = &[
    Flaw::new("a call panics during an outage", EVERY, |_| {
        Faults::default().unreachable(|_, ()| async { panic!("no connection") })
    }),
    Flaw::new(
        "uses of keys are acknowledged during an outage, and lost",
        &["an_unreachable_store_is_unavailable_and_comes_back"],
        |_| Faults { forgets_uses: true, ..Faults::default() },
    ),
    Flaw::new("a call does not end during an outage", EVERY, |_| {
        Faults::default().unreachable(|_, ()| std::future::pending())
    }),
    Flaw::new("a write is acknowledged during an outage", EVERY, |_| {
        Faults::default().unreachable(|_, ()| async { Ok(()) })
    }),
    Flaw::new("additions still fail after an outage", EVERY, |notes| {
        let (lost, is_lost) = (Arc::clone(notes), Arc::clone(notes));
        let gone = || StoreError::unavailable("the connection is gone");
        Faults::default()
            .unreachable(move |_, ()| {
                lost.flag.store(true, Ordering::Relaxed);
                async move { Err(gone()) }
            })
            .add(move |store, (pet, request)| {
                let lost = is_lost.flag.load(Ordering::Relaxed);
                async move {
                    if lost {
                        return Err(gone().into());
                    }
                    PetRepository::add(&*store, pet, request).await
                }
            })
    }),
];
