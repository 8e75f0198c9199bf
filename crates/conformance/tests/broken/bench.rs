//! A harness that has every capability: its stores lie in memory, but are opened like others.

use std::{
    sync::{
        Arc, Mutex,
        atomic::{AtomicBool, AtomicUsize, Ordering},
    },
    time::Duration,
};

use async_trait::async_trait;
use petstore_conformance::{Harness, Place, Problem, Store};
use petstore_memory::MemoryStore;

use crate::flawed::{Flaw, Flawed};

pub(crate) struct Bench<F>(F);

impl<F> Bench<F> {
    pub(crate) fn with(flaw: F) -> Self {
        Self(flaw)
    }
}

#[async_trait]
impl<F: Flaw> Harness for Bench<F> {
    async fn fresh(&self) -> Result<Box<dyn Place>, Problem> {
        Ok(Box::new(Disk {
            flaw: self.0.fresh(),
            content: Mutex::new(Arc::new(MemoryStore::new())),
            opened: AtomicUsize::new(0),
            cut_off: Arc::default(),
        }))
    }

    fn patience(&self) -> Duration {
        Duration::from_millis(500)
    }

    fn time_limit(&self) -> Duration {
        Duration::from_secs(20)
    }
}

/// What would be a disk.
struct Disk<F> {
    flaw: F,
    content: Mutex<Arc<MemoryStore>>,
    opened: AtomicUsize,
    cut_off: Arc<AtomicBool>,
}

#[async_trait]
impl<F: Flaw> Place for Disk<F> {
    async fn open(&self) -> Result<Store, Problem> {
        let mut content = self.content.lock().unwrap();
        // Only the disk itself holds the content: all handles are closed.
        let again = self.opened.fetch_add(1, Ordering::SeqCst) > 0;
        if again && Arc::strong_count(&content) == 1 {
            *content = self.flaw.reopened(Arc::clone(&content));
        }
        let store = Arc::clone(&content);
        let cut_off = Arc::clone(&self.cut_off);
        Ok(Store::with_archive(Arc::new(Flawed { flaw: self.flaw.opened(), store, cut_off })))
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
