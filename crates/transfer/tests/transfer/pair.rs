//! Two stores in memory, and a service over them.

use std::{ops::ControlFlow, sync::Arc, time::Duration};

use async_trait::async_trait;
use petstore_conformance::{Capability, Harness, Problem, ScratchStore, Store};
use petstore_domain::{Clock, Handover, ManualClock, StoreError, Timestamp};
use petstore_memory::MemoryStore;
use petstore_transfer::{MoveError, Mover, NextStore, OpenNext, Side};

/// A store as one of two, perhaps with another handover.
pub(crate) fn side(
    store: &Arc<MemoryStore>,
    handover: Option<Arc<dyn Handover>>,
    label: &str,
) -> Side {
    Side {
        pets: store.clone(),
        keys: store.clone(),
        archive: store.clone(),
        handover: handover.unwrap_or_else(|| store.clone()),
        label: label.to_owned(),
    }
}

pub(crate) struct Opener(pub(crate) Side);

#[async_trait]
impl OpenNext for Opener {
    async fn open(&self) -> Result<Side, StoreError> {
        Ok(self.0.clone())
    }
}

pub(crate) async fn hand_over(from: &Side, to: &Side) -> Result<Option<Duration>, MoveError> {
    let clock: Arc<dyn Clock> = Arc::new(ManualClock::new(Timestamp(0)));
    let mover = Mover::new(from.clone(), to.clone(), clock);
    mover.run(&mut |_| ControlFlow::Continue(())).await
}

/// A harness of services over two stores, of which the second is open already or not.
pub(crate) struct Pairs {
    pub(crate) handed_over: bool,
}

struct Pair {
    from: Arc<MemoryStore>,
    to: Arc<MemoryStore>,
}

#[async_trait]
impl Harness for Pairs {
    async fn fresh(&self) -> Result<Box<dyn ScratchStore>, Problem> {
        let pair = Pair { from: Arc::default(), to: Arc::default() };
        if self.handed_over {
            hand_over(&side(&pair.from, None, "old"), &side(&pair.to, None, "new")).await?;
        }
        Ok(Box::new(pair))
    }

    fn unsupported(&self, capability: Capability) -> Option<&'static str> {
        match capability {
            Capability::Version | Capability::SecondHandle | Capability::Reopen => None,
            Capability::Archive | Capability::Handover => Some("these are of one store"),
            Capability::Outage => Some("a store in memory cannot be out of reach"),
        }
    }
}

#[async_trait]
impl ScratchStore for Pair {
    async fn open(&self) -> Result<Store, Problem> {
        let next = Opener(side(&self.to, None, "new"));
        let store = NextStore::start(side(&self.from, None, "old"), Box::new(next)).await?;
        tokio::spawn(NextStore::watch(Arc::downgrade(&store)));
        Ok(Store::new(store))
    }
}
