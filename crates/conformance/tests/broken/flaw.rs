//! One row of a table of flaws.

use std::{
    collections::{HashMap, HashSet},
    sync::{
        Mutex,
        atomic::{AtomicBool, AtomicI64},
    },
    time::Instant,
};

use petstore_conformance::Capability;
use petstore_domain::{ApiKey, KeyId, PetId, Timestamp};

use crate::faults::{Faults, Version};

/// An adapter that is broken on purpose.
pub(crate) struct Flaw {
    /// The fault, in a few words.
    pub(crate) what: &'static str,
    /// Promises that must catch the flaw. Other promises may catch it too.
    pub(crate) caught_by: &'static [&'static str],
    /// Sets the faults of a new handle.
    pub(crate) set_faults: fn(&mut Faults),
    /// Capabilities that the harness declares unsupported.
    pub(crate) unsupported: &'static [Capability],
    /// `true` to run on one thread, where other tasks always overtake a call that yields.
    pub(crate) one_thread: bool,
    /// Sets further faults: those of a flaw that a loop makes.
    pub(crate) made: Option<&'static (dyn Fn(&mut Faults) + Sync)>,
}

impl Flaw {
    pub(crate) const fn new(
        what: &'static str,
        caught_by: &'static [&'static str],
        set_faults: fn(&mut Faults),
    ) -> Self {
        Self { what, caught_by, set_faults, unsupported: &[], one_thread: false, made: None }
    }

    /// Makes a flaw in a loop.
    pub(crate) fn made(
        what: String,
        caught_by: &'static [&'static str],
        set_faults: impl Fn(&mut Faults) + Sync + 'static,
    ) -> Self {
        let made: &'static (dyn Fn(&mut Faults) + Sync) = Box::leak(Box::new(set_faults));
        Self { made: Some(made), ..Self::new(what.leak(), caught_by, |_| ()) }
    }

    pub(crate) const fn on_one_thread(self) -> Self {
        Self { one_thread: true, ..self }
    }

    pub(crate) const fn declaring(self, unsupported: &'static [Capability]) -> Self {
        Self { unsupported, ..self }
    }
}

/// The notes of a flaw about one store, or about one handle. Each flaw gives the fields a meaning of its own.
#[derive(Default)]
pub(crate) struct Notes {
    pub(crate) count: AtomicI64,
    pub(crate) flag: AtomicBool,
    pub(crate) seen: Mutex<Seen>,
    pub(crate) uses: Mutex<HashMap<KeyId, Timestamp>>,
    pub(crate) keys: Mutex<HashMap<KeyId, ApiKey>>,
    /// Animals that some reads leave out.
    pub(crate) hidden: Mutex<HashSet<PetId>>,
    /// `true` while the store cannot be reached.
    pub(crate) is_cut_off: AtomicBool,
    /// `true` if the store refuses a second animal with the same name.
    pub(crate) has_unique_names: AtomicBool,
}

/// The version or the moment that a handle has seen.
#[derive(Default)]
pub(crate) struct Seen {
    pub(crate) version: Version,
    pub(crate) at: Option<Instant>,
}
