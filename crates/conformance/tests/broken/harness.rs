//! A harness with every capability. Its stores are in memory, but can be reopened like stores on a disk.

use std::{
    sync::{
        Arc, Mutex,
        atomic::{AtomicBool, AtomicUsize, Ordering},
    },
    time::Duration,
};

use async_trait::async_trait;
use petstore_conformance::{BoxError, Capability, Harness, ScratchStore, Store, act};
use petstore_domain::{Archive as _, Handover as _, PetId, Rows, WriterRole};
use petstore_memory::MemoryStore;

use crate::{
    faults::{Content, Faults},
    faulty::Faulty,
    flaw::{Flaw, Notes},
};

/// An adapter without a flaw.
pub(crate) const NOTHING: &Flaw = &Flaw::new("nothing", &[], |_| Faults::default());

pub(crate) struct FaultyHarness(pub(crate) &'static Flaw);

#[async_trait]
impl Harness for FaultyHarness {
    async fn fresh(&self) -> Result<Box<dyn ScratchStore>, BoxError> {
        Ok(Box::new(Disk {
            flaw: self.0,
            notes: Notes::new(),
            content: Mutex::new(MemoryStore::new()),
            opened: AtomicUsize::new(0),
            open: Arc::default(),
            cut_off: Arc::default(),
            unique_names: Arc::default(),
        }))
    }

    fn unsupported(&self, capability: Capability) -> Option<&'static str> {
        self.0.unsupported.contains(&capability).then_some("this test says so")
    }

    fn outage_timeout(&self) -> Duration {
        Duration::from_millis(500)
    }

    fn time_limit(&self) -> Duration {
        Duration::from_secs(30)
    }
}

/// The data of one store, in place of a disk.
struct Disk {
    flaw: &'static Flaw,
    notes: Arc<Notes>,
    content: Mutex<MemoryStore>,
    opened: AtomicUsize,
    /// Every open handle holds a clone, so a count of 1 means that no handle is open.
    open: Arc<()>,
    cut_off: Arc<AtomicBool>,
    unique_names: Arc<AtomicBool>,
}

impl Disk {
    fn handle(&self, reads_while_sealed: bool) -> MemoryStore {
        self.content.lock().unwrap().handle(reads_while_sealed)
    }
}

#[async_trait]
impl ScratchStore for Disk {
    async fn open(&self, reads_while_sealed: bool) -> Result<Store, BoxError> {
        let faults = (self.flaw.faults)(&self.notes);
        let again = self.opened.load(Ordering::SeqCst) > 0;
        if faults.made_twice && !again {
            tokio::time::sleep(Duration::from_millis(5)).await;
            *self.content.lock().unwrap() = MemoryStore::new();
        }
        self.opened.fetch_add(1, Ordering::SeqCst);
        if again
            && Arc::strong_count(&self.open) == 1
            && let Some(change) = faults.reopened
        {
            let changed = changed(&self.handle(false), change).await?;
            *self.content.lock().unwrap() = changed;
        }
        let store = Arc::new(Faulty {
            faults,
            store: Arc::new(self.handle(reads_while_sealed)),
            cut_off: Arc::clone(&self.cut_off),
            unique_names: Arc::clone(&self.unique_names),
            _open: Arc::clone(&self.open),
        });
        Ok(Store::with_archive(store.clone()).with_handover(store))
    }

    async fn cut_off(&self) -> Result<(), BoxError> {
        self.cut_off.store(true, Ordering::SeqCst);
        Ok(())
    }

    async fn reconnect(&self) -> Result<(), BoxError> {
        self.cut_off.store(false, Ordering::SeqCst);
        Ok(())
    }

    async fn act_elsewhere(&self, action: &str) -> Result<(), BoxError> {
        if (self.flaw.faults)(&self.notes).alone {
            // The action runs on a copy, so this store does not change.
            let elsewhere = Arc::new(changed(&self.handle(false), |_| ()).await?);
            let store = Store::with_archive(elsewhere.clone()).with_handover(elsewhere);
            let _ = act(&store, action).await;
            return Ok(());
        }
        let store = self.open(false).await?;
        act(&store, action).await.map_err(|failure| failure.to_string().into())
    }

    async fn forbid_equal_names(&self) -> Result<(), BoxError> {
        self.unique_names.store(true, Ordering::SeqCst);
        Ok(())
    }

    async fn delete_pet(&self, id: PetId) -> Result<(), BoxError> {
        if self.handle(false).delete_pet(id) { Ok(()) } else { Err("no such animal".into()) }
    }
}

/// Creates a store with the content of `store`, changed by `change`.
async fn changed(store: &MemoryStore, change: fn(&mut Content)) -> Result<MemoryStore, BoxError> {
    let mut snapshot = store.snapshot().await?;
    let mut content = Content {
        pets: snapshot.pets(None, u32::MAX).await?,
        keys: snapshot.keys().await?,
        records: snapshot.records(None, u32::MAX).await?,
        highest: snapshot.highest_ids().await?,
        state: store.state().await?,
    };
    change(&mut content);
    let store = MemoryStore::new();
    let Content { pets, keys, records, highest, state } = content;
    store.write_rows(WriterRole::Service, Rows { pets, keys, records, highest }).await?;
    store.change_state(0, state).await?;
    Ok(store)
}
