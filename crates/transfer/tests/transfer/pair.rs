//! Two stores in memory, and a service over them.

use std::{ops::ControlFlow, sync::Arc, time::Duration};

use async_trait::async_trait;
use petstore_conformance::{BoxError, Capability, Harness, ScratchStore, Store};
use petstore_domain::{
    Added, Handover as _, PageLimit, Pet, PetId, PetQuery, PetRepository, Phase, StoreError,
    StoreState, Timestamp, mocks::new_pet,
};
use petstore_memory::MemoryStore;
use petstore_transfer::{
    CurrentStore, MoveOutcome, Mover, NextStoreOpener, Poller, StorePorts, TransferError,
};

use tokio::time::{Instant, timeout};

use crate::{
    faulty::{Fault, Faulty},
    stores::{fill, store},
};

pub(crate) async fn add(store: &dyn PetRepository) -> PetId {
    match store.add(new_pet("Rex"), None).await.unwrap() {
        Added::Created(pet) | Added::Replayed(pet) => pet.id,
    }
}

pub(crate) async fn all(store: &dyn PetRepository) -> Vec<Pet> {
    let query = PetQuery { limit: PageLimit::MAX, ..PetQuery::default() };
    store.list(query).await.unwrap().value.pets
}

/// Two stores for a handover.
pub(crate) struct Both {
    pub(crate) old: Arc<MemoryStore>,
    pub(crate) new: Arc<MemoryStore>,
    pub(crate) from: StorePorts,
    pub(crate) to: StorePorts,
}

/// Returns two stores. The old one holds `count` animals.
pub(crate) async fn both(count: usize) -> Both {
    let (old, new) = (store(), store());
    fill(&old, count).await;
    let (from, to) = (side(&old, "old"), side(&new, "new"));
    Both { old, new, from, to }
}

impl Both {
    pub(crate) fn faulty_source(&self, fault: Fault) -> StorePorts {
        let faulty = Faulty::new(&self.old, &self.old, fault);
        StorePorts { archive: faulty.clone(), handover: faulty, ..self.from.clone() }
    }

    pub(crate) fn faulty_target(&self, fault: Fault) -> StorePorts {
        let faulty = Faulty::new(&self.new, &self.old, fault);
        StorePorts { archive: faulty.clone(), handover: faulty, ..self.to.clone() }
    }

    /// Marks the new store as being filled and seals the old one, like a mover. Returns the state of the old store.
    pub(crate) async fn seal(&self) -> StoreState {
        let Self { old, new, .. } = self;
        let (state, other) = (old.state().await.unwrap(), new.state().await.unwrap());
        let filling = other.next(Phase::Filling { from: state.id });
        assert!(new.change_state(other.revision, filling).await.unwrap());
        let sealed = state.next(Phase::Sealed { to: other.id, label: "new".to_owned() });
        assert!(old.change_state(state.revision, sealed.clone()).await.unwrap());
        sealed
    }
}

/// Returns three stores with the labels a, b and c.
pub(crate) fn three_stores() -> [(Arc<MemoryStore>, StorePorts); 3] {
    ["a", "b", "c"].map(|label| {
        let store = store();
        let ports = side(&store, label);
        (store, ports)
    })
}

/// Polls a future that never waits, and returns its output.
pub(crate) fn at_once<T>(work: impl Future<Output = T>) -> T {
    let mut work = std::pin::pin!(work);
    let mut context = std::task::Context::from_waker(std::task::Waker::noop());
    match work.as_mut().poll(&mut context) {
        std::task::Poll::Ready(done) => done,
        std::task::Poll::Pending => panic!("the store in memory never waits"),
    }
}

pub(crate) async fn phase(store: &MemoryStore) -> Phase {
    store.state().await.unwrap().phase
}

/// Returns the ports of a store, with reads while it is sealed.
pub(crate) fn side(store: &Arc<MemoryStore>, label: &str) -> StorePorts {
    petstore_testing::limit_time();
    let service = Arc::new(store.handle(true));
    StorePorts {
        pets: service.clone(),
        keys: service,
        archive: store.clone(),
        handover: store.clone(),
        label: label.to_owned(),
    }
}

/// A next store, and the time until which it is missing.
struct Opener(StorePorts, Instant);

#[async_trait]
impl NextStoreOpener for Opener {
    async fn open(&self) -> Result<StorePorts, StoreError> {
        let is_there = self.1 <= Instant::now();
        self.0.handover.state().await?;
        if is_there { Ok(self.0.clone()) } else { Err(StoreError::unavailable("missing")) }
    }
}

pub(crate) fn mover(from: &StorePorts, to: &StorePorts) -> Mover {
    Mover::new(from.clone(), to.clone(), Timestamp(0))
}

/// Hands a store over. Returns how long writes waited; `None` if the store was handed over before.
pub(crate) async fn hand_over(
    from: &StorePorts,
    to: &StorePorts,
) -> Result<Option<Duration>, TransferError> {
    Ok(match mover(from, to).run(&mut |_| ControlFlow::Continue(())).await? {
        MoveOutcome::HandedOver { writes_waited } => Some(writes_waited),
        MoveOutcome::AlreadyHandedOver | MoveOutcome::SealedAgain | MoveOutcome::Canceled => None,
    })
}

/// Hands a store over, and then gives it back its earlier state, as after the loss of its last changes.
pub(crate) async fn hand_over_without_seal(from: &StorePorts, to: &StorePorts) {
    let open = from.handover.state().await.unwrap();
    hand_over(from, to).await.unwrap();
    let now = from.handover.state().await.unwrap();
    assert!(from.handover.change_state(now.revision, open).await.unwrap());
}

pub(crate) async fn cancel(
    from: &StorePorts,
    to: &StorePorts,
) -> Result<MoveOutcome, TransferError> {
    mover(from, to).cancel(&mut |_| ControlFlow::Continue(())).await
}

/// Starts a service over two stores.
pub(crate) async fn service(from: &StorePorts, to: &StorePorts) -> Arc<CurrentStore> {
    service_before(from, to, Duration::ZERO).await
}

/// Starts a service over two stores, the second of which is missing for some time.
pub(crate) async fn service_before(
    from: &StorePorts,
    to: &StorePorts,
    appears: Duration,
) -> Arc<CurrentStore> {
    let current = Arc::<CurrentStore>::default();
    let opener = Box::new(Opener(to.clone(), Instant::now() + appears));
    let poller = Poller::start(current.clone(), from.clone(), opener).await.unwrap();
    tokio::spawn(async move { poller.run().await });
    current
}

/// A harness of services over two stores, before or after a handover.
pub(crate) struct Pairs {
    pub(crate) handed_over: bool,
}

#[async_trait]
impl Harness for Pairs {
    async fn fresh(&self) -> Result<Box<dyn ScratchStore>, BoxError> {
        let both = both(0).await;
        if self.handed_over {
            timeout(Duration::from_secs(20), hand_over(&both.from, &both.to)).await??;
        }
        Ok(Box::new(both))
    }

    fn unsupported(&self, capability: Capability) -> Option<&'static str> {
        match capability {
            Capability::Version | Capability::SecondHandle => None,
            Capability::Archive | Capability::Handover => Some("these ports are of one store"),
            Capability::Reopen
            | Capability::OtherProcess
            | Capability::Outage
            | Capability::DeletedRow
            | Capability::RefusedRow => Some("the kit also runs on a store in memory alone"),
        }
    }
}

#[async_trait]
impl ScratchStore for Both {
    async fn open(&self, _: bool) -> Result<Store, BoxError> {
        Ok(Store::new(service(&self.from, &self.to).await))
    }
}
