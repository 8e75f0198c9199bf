//! A harness with every capability. Its stores are in memory, but can be reopened like stores on a disk.

use std::{
    sync::{
        Arc, Mutex,
        atomic::{AtomicU8, AtomicUsize, Ordering},
    },
    time::Duration,
};

use async_trait::async_trait;
use petstore_conformance::{BoxError, Capability, Harness, ScratchStore, Store, act};
use petstore_domain::{Handover as _, PetId};
use petstore_memory::MemoryStore;

use crate::{
    faults::{Change, Faults, Handle, copied},
    faulty::Faulty,
    flaw::{Flaw, Notes},
};

/// An adapter without a flaw.
pub(crate) const NOTHING: &Flaw = &Flaw::new("nothing", &[], |it| {
    // A store may purge fewer records in one call than the limit allows.
    it.purge.edit_input(|(_, limit)| *limit = (*limit).min(1));
});

pub(crate) struct FaultyHarness {
    flaw: &'static Flaw,
    pub(crate) time_limit: Duration,
    pub(crate) ends: Arc<Ends>,
}

/// The ends of stores that a harness has seen.
#[derive(Default)]
pub(crate) struct Ends {
    pub(crate) closed: AtomicUsize,
    pub(crate) removed: AtomicUsize,
    /// The call that fails: `close` or `remove`.
    pub(crate) failing: Mutex<&'static str>,
}

impl Ends {
    fn end(&self, call: &str) -> Result<(), BoxError> {
        if *self.failing.lock().unwrap() == call { Err("the disk is gone".into()) } else { Ok(()) }
    }
}

impl FaultyHarness {
    pub(crate) fn new(flaw: &'static Flaw) -> Self {
        Self { flaw, time_limit: Duration::from_secs(20), ends: Arc::default() }
    }
}

#[async_trait]
impl Harness for FaultyHarness {
    async fn fresh(&self) -> Result<Box<dyn ScratchStore>, BoxError> {
        Ok(Box::new(Disk {
            flaw: self.flaw,
            ends: Arc::clone(&self.ends),
            notes: Arc::default(),
            content: Mutex::default(),
            opened: AtomicU8::new(0),
        }))
    }

    fn unsupported(&self, capability: Capability) -> Option<&'static str> {
        self.flaw.unsupported.contains(&capability).then_some("this test says so")
    }

    fn outage_timeout(&self) -> Duration {
        Duration::from_millis(500)
    }

    fn time_limit(&self) -> Duration {
        self.time_limit
    }
}

/// The data of one store, in place of a disk.
struct Disk {
    flaw: &'static Flaw,
    ends: Arc<Ends>,
    /// Every open handle holds a clone, so a count of 1 means that no handle is open.
    notes: Arc<Notes>,
    content: Mutex<MemoryStore>,
    /// The number of handles opened so far.
    opened: AtomicU8,
}

impl Disk {
    fn faults(&self) -> Faults {
        let mut faults = Faults::default();
        (self.flaw.set_faults)(&mut faults);
        if let Some(set_faults) = self.flaw.made {
            set_faults(&mut faults);
        }
        faults
    }

    fn handle(&self, reads_while_sealed: bool) -> MemoryStore {
        self.content.lock().unwrap().handle(reads_while_sealed)
    }
}

#[async_trait]
impl ScratchStore for Disk {
    async fn open(&self, reads_while_sealed: bool) -> Result<Store, BoxError> {
        let faults = self.faults();
        if faults.made_twice && self.opened.load(Ordering::SeqCst) == 0 {
            tokio::time::sleep(Duration::from_millis(5)).await;
            *self.content.lock().unwrap() = MemoryStore::new();
        }
        let number = self.opened.fetch_add(1, Ordering::SeqCst);
        if number > 0
            && Arc::strong_count(&self.notes) == 1
            && let Some(change) = &faults.reopened
        {
            let changed = changed(&self.handle(false), change).await?;
            *self.content.lock().unwrap() = changed;
        }
        let store = Arc::new(self.handle(reads_while_sealed));
        let (notes, own) = (Arc::clone(&self.notes), Arc::default());
        let store = Arc::new(Faulty { faults, handle: Handle { store, number, notes, own } });
        Ok(Store::with_archive(store.clone()).with_handover(store))
    }

    async fn close(&self, store: Store) -> Result<(), BoxError> {
        self.ends.closed.fetch_add(1, Ordering::SeqCst);
        drop(store);
        self.ends.end("close")
    }

    async fn remove(&self) -> Result<(), BoxError> {
        if self.notes.is_cut_off.load(Ordering::SeqCst) {
            return Err("the disk is out of reach".into());
        }
        self.ends.removed.fetch_add(1, Ordering::SeqCst);
        self.ends.end("remove")
    }

    async fn cut_off(&self) -> Result<(), BoxError> {
        self.notes.is_cut_off.store(true, Ordering::SeqCst);
        Ok(())
    }

    async fn reconnect(&self) -> Result<(), BoxError> {
        self.notes.is_cut_off.store(false, Ordering::SeqCst);
        Ok(())
    }

    async fn act_elsewhere(&self, action: &str) -> Result<(), BoxError> {
        let store = self.open(false).await?;
        act(&store, action).await.map_err(|failure| failure.to_string().into())
    }

    async fn forbid_equal_names(&self) -> Result<(), BoxError> {
        self.notes.has_unique_names.store(true, Ordering::SeqCst);
        Ok(())
    }

    async fn delete_pet(&self, id: PetId) -> Result<(), BoxError> {
        if self.handle(false).delete_pet(id) { Ok(()) } else { Err("no such animal".into()) }
    }
}

/// Creates a store with the rows and the state of `store`, changed by `change`.
async fn changed(store: &MemoryStore, change: &Change) -> Result<MemoryStore, BoxError> {
    let mut state = store.state().await?;
    let copy = copied(store, |rows| change(rows, &mut state)).await?;
    copy.change_state(0, state).await?;
    Ok(copy)
}
