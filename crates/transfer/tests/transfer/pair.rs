//! Two stores in memory, and a service over them.

use std::{ops::ControlFlow, sync::Arc, time::Duration};

use async_trait::async_trait;
use petstore_conformance::{BoxError, Capability, Harness, ScratchStore, Store};
use petstore_domain::{
    Added, Handover, PageLimit, Pet, PetId, PetQuery, PetRepository, Phase, StoreError, Timestamp,
    mocks::new_pet,
};
use petstore_memory::MemoryStore;
use petstore_transfer::{
    CurrentStore, MoveOutcome, Mover, NextStoreOpener, Poller, StorePorts, TransferError,
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

pub(crate) fn stores() -> (Arc<MemoryStore>, Arc<MemoryStore>) {
    (Arc::default(), Arc::default())
}

pub(crate) async fn phase(store: &MemoryStore) -> Phase {
    store.state().await.unwrap().phase
}

/// Returns the ports of a store, with reads while it is sealed. `handover` replaces the store's own port.
pub(crate) fn side(
    store: &Arc<MemoryStore>,
    handover: Option<Arc<dyn Handover>>,
    label: &str,
) -> StorePorts {
    let service = Arc::new(store.handle(true));
    StorePorts {
        pets: service.clone(),
        keys: service,
        archive: store.clone(),
        handover: handover.unwrap_or_else(|| store.clone()),
        label: label.to_owned(),
    }
}

pub(crate) struct Opener(pub(crate) StorePorts);

#[async_trait]
impl NextStoreOpener for Opener {
    async fn open(&self) -> Result<StorePorts, StoreError> {
        Ok(self.0.clone())
    }
}

pub(crate) fn mover(from: &StorePorts, to: &StorePorts) -> Mover {
    Mover::new(from.clone(), to.clone(), Timestamp(0))
}

pub(crate) async fn move_store(
    from: &StorePorts,
    to: &StorePorts,
) -> Result<MoveOutcome, TransferError> {
    mover(from, to).run(&mut |_| ControlFlow::Continue(())).await
}

/// Hands a store over. Returns how long writes waited; `None` if the store was handed over before.
pub(crate) async fn hand_over(
    from: &StorePorts,
    to: &StorePorts,
) -> Result<Option<Duration>, TransferError> {
    Ok(match move_store(from, to).await? {
        MoveOutcome::HandedOver { writes_waited } => Some(writes_waited),
        MoveOutcome::AlreadyHandedOver | MoveOutcome::SealedAgain | MoveOutcome::Canceled => None,
    })
}

pub(crate) async fn cancel(
    from: &StorePorts,
    to: &StorePorts,
) -> Result<MoveOutcome, TransferError> {
    mover(from, to).cancel(&mut |_| ControlFlow::Continue(())).await
}

/// Starts a service over two stores.
pub(crate) async fn service(from: &StorePorts, to: &StorePorts) -> Arc<CurrentStore> {
    let current = Arc::<CurrentStore>::default();
    let opener = Box::new(Opener(to.clone()));
    let poller = Poller::start(current.clone(), from.clone(), opener).await.unwrap();
    tokio::spawn(async move { poller.run().await });
    current
}

/// A harness of services over two stores, before or after a handover.
pub(crate) struct Pairs {
    pub(crate) handed_over: bool,
}

struct Pair {
    from: Arc<MemoryStore>,
    to: Arc<MemoryStore>,
}

#[async_trait]
impl Harness for Pairs {
    async fn fresh(&self) -> Result<Box<dyn ScratchStore>, BoxError> {
        let pair = Pair { from: Arc::default(), to: Arc::default() };
        if self.handed_over {
            hand_over(&side(&pair.from, None, "old"), &side(&pair.to, None, "new")).await?;
        }
        Ok(Box::new(pair))
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
impl ScratchStore for Pair {
    async fn open(&self, _: bool) -> Result<Store, BoxError> {
        Ok(Store::new(service(&side(&self.from, None, "old"), &side(&self.to, None, "new")).await))
    }
}
