//! A harness that has every capability: its stores lie in memory, but are opened like others.

use std::{
    sync::{
        Arc, Mutex,
        atomic::{AtomicBool, AtomicUsize, Ordering},
    },
    time::Duration,
};

use async_trait::async_trait;
use petstore_conformance::{Capability, Harness, Problem, ScratchStore, Store};
use petstore_domain::{Archive as _, Batch};
use petstore_memory::MemoryStore;

use crate::{
    faults::{Content, Faults},
    faulty::Faulty,
    flaw::{Flaw, Notes},
};

/// No flaw at all.
pub(crate) const NOTHING: &Flaw = &Flaw::new("nothing", &[], |_| Faults::default());

pub(crate) struct FaultyHarness(pub(crate) &'static Flaw);

#[async_trait]
impl Harness for FaultyHarness {
    async fn fresh(&self) -> Result<Box<dyn ScratchStore>, Problem> {
        Ok(Box::new(Disk {
            flaw: self.0,
            notes: Notes::new(),
            content: Mutex::new(Arc::new(MemoryStore::new())),
            opened: AtomicUsize::new(0),
            cut_off: Arc::default(),
        }))
    }

    fn unsupported(&self, capability: Capability) -> Option<&'static str> {
        self.0.unsupported.contains(&capability).then_some("this test says so")
    }

    fn outage_timeout(&self) -> Duration {
        Duration::from_millis(500)
    }

    fn time_limit(&self) -> Duration {
        Duration::from_secs(20)
    }
}

/// What would be a disk.
struct Disk {
    flaw: &'static Flaw,
    notes: Arc<Notes>,
    content: Mutex<Arc<MemoryStore>>,
    opened: AtomicUsize,
    cut_off: Arc<AtomicBool>,
}

#[async_trait]
impl ScratchStore for Disk {
    async fn open(&self) -> Result<Store, Problem> {
        let faults = (self.flaw.faults)(&self.notes);
        let mut store = Arc::clone(&self.content.lock().unwrap());
        // Only the disk itself holds the content: every handle is closed.
        let again = self.opened.fetch_add(1, Ordering::SeqCst) > 0;
        if again
            && Arc::strong_count(&store) == 2
            && let Some(change) = faults.reopened
        {
            store = Arc::new(changed(&store, change).await?);
            *self.content.lock().unwrap() = Arc::clone(&store);
        }
        let cut_off = Arc::clone(&self.cut_off);
        let store = Arc::new(Faulty { faults, store, cut_off });
        Ok(Store::with_archive(store.clone()).with_handover(store))
    }

    async fn cut_off(&self) -> Result<(), Problem> {
        self.cut_off.store(true, Ordering::SeqCst);
        Ok(())
    }

    async fn reconnect(&self) -> Result<(), Problem> {
        self.cut_off.store(false, Ordering::SeqCst);
        Ok(())
    }
}

/// A store that holds what `change` makes of the content of another.
async fn changed(store: &MemoryStore, change: fn(&mut Content)) -> Result<MemoryStore, Problem> {
    let mut snapshot = store.snapshot().await?;
    let mut content = Content {
        pets: snapshot.pets(None, u32::MAX).await?,
        keys: snapshot.keys().await?,
        records: snapshot.idempotency_records(None, u32::MAX).await?,
    };
    change(&mut content);
    let store = MemoryStore::new();
    let Content { pets, keys, records } = content;
    store.write(Batch { pets, keys, records, ..Batch::default() }).await?;
    Ok(store)
}
