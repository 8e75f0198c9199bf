//! One row of a table of flaws.

use std::{
    collections::{HashMap, HashSet},
    sync::{
        Arc, Mutex,
        atomic::{AtomicBool, AtomicI64, AtomicU8},
    },
};

use petstore_conformance::Capability;
use petstore_domain::{ApiKey, KeyId, PetId, PetRepository as _, Timestamp};
use petstore_memory::MemoryStore;

use crate::faults::Faults;

/// An adapter that is broken on purpose.
pub(crate) struct Flaw {
    /// The fault, in a few words.
    pub(crate) what: &'static str,
    /// Promises that must catch the flaw. Other promises may catch it too.
    pub(crate) caught_by: &'static [&'static str],
    /// Returns the faults of a new handle.
    pub(crate) faults: fn(&Arc<Notes>) -> Faults,
    /// Capabilities that the harness declares unsupported.
    pub(crate) unsupported: &'static [Capability],
    /// `true` to run on one thread, where other tasks always overtake a call that yields.
    pub(crate) one_thread: bool,
}

impl Flaw {
    pub(crate) const fn new(
        what: &'static str,
        caught_by: &'static [&'static str],
        faults: fn(&Arc<Notes>) -> Faults,
    ) -> Self {
        Self { what, caught_by, faults, unsupported: &[], one_thread: false }
    }

    pub(crate) const fn on_one_thread(self) -> Self {
        Self { one_thread: true, ..self }
    }

    pub(crate) const fn declaring(self, unsupported: &'static [Capability]) -> Self {
        Self { unsupported, ..self }
    }
}

/// The notes of a flaw about one store, shared by all handles of the store.
pub(crate) struct Notes {
    pub(crate) handles: AtomicU8,
    pub(crate) last_id: AtomicI64,
    pub(crate) flag: AtomicBool,
    pub(crate) uses: Mutex<HashMap<KeyId, Timestamp>>,
    pub(crate) keys: Mutex<HashMap<KeyId, ApiKey>>,
    /// Animals that some reads leave out.
    pub(crate) hidden: Mutex<HashSet<PetId>>,
    /// By how much a flaw shows a wrong version, or a wrong `StoreState::rewrites`.
    pub(crate) offset: AtomicI64,
    /// A random upper half, for the versions that a flaw makes up.
    pub(crate) epoch: u128,
}

impl Notes {
    pub(crate) fn new() -> Arc<Self> {
        let version = MemoryStore::new().version().map_or(0, |version| version.0);
        Arc::new(Self {
            handles: AtomicU8::new(0),
            last_id: AtomicI64::new(0),
            flag: AtomicBool::new(false),
            uses: Mutex::default(),
            keys: Mutex::default(),
            hidden: Mutex::default(),
            offset: AtomicI64::new(0),
            epoch: version >> 64 << 64,
        })
    }
}
