//! The conformance kit on real nodes of etcd.

use std::{
    mem,
    sync::{
        Arc, Mutex, PoisonError,
        atomic::{AtomicBool, AtomicU32, Ordering},
    },
};

use async_trait::async_trait;
use petstore_conformance::{
    BoxError, Capability, Failure, Harness, ScratchStore, Store, act_as_child, act_in_child,
};
use petstore_domain::PetId;
use petstore_etcd::{EtcdConfig, EtcdStore, OpenSettings};
use petstore_testing::Etcd;

/// The running nodes that no test uses.
static IDLE: Mutex<Vec<Etcd>> = Mutex::new(Vec::new());

/// A store with a prefix of its own, on a node that no other test uses meanwhile.
struct OnNode {
    /// `None` only while the value is dropped.
    etcd: Option<Etcd>,
    prefix: String,
    is_cut_off: AtomicBool,
}

impl OnNode {
    fn new() -> Result<Self, BoxError> {
        static NUMBER: AtomicU32 = AtomicU32::new(0);
        let prefix = format!("kit-{}", NUMBER.fetch_add(1, Ordering::Relaxed));
        let idle = IDLE.lock().unwrap_or_else(PoisonError::into_inner).pop();
        let etcd = Some(idle.map_or_else(start, Ok)?);
        Ok(Self { etcd, prefix, is_cut_off: AtomicBool::new(false) })
    }

    fn etcd(&self) -> Result<&Etcd, BoxError> {
        Ok(self.etcd.as_ref().ok_or("the node is gone")?)
    }

    fn url(&self) -> Result<String, BoxError> {
        Ok(format!("etcd://{}/{}", self.etcd()?.endpoints(), self.prefix))
    }
}

/// Starts a node that accepts the fewest operations in a transaction that petstore supports.
fn start() -> Result<Etcd, BoxError> {
    let etcd = Etcd::prepare(1, None)?;
    etcd.restart_with(&["--max-txn-ops=16".to_owned()])?;
    Ok(etcd)
}

impl Drop for OnNode {
    /// Keeps the node for another test, unless the node is cut off, as it may be after a failed test.
    fn drop(&mut self) {
        if let Some(etcd) = mem::take(&mut self.etcd)
            && !*self.is_cut_off.get_mut()
        {
            IDLE.lock().unwrap_or_else(PoisonError::into_inner).push(etcd);
        }
    }
}

async fn open(url: &str, reads_while_sealed: bool) -> Result<Store, BoxError> {
    let config = EtcdConfig::parse(url)?;
    let settings = OpenSettings { create: true, reads_while_sealed, ..OpenSettings::default() };
    let store = Arc::new(EtcdStore::open(&config, settings).await?);
    Ok(Store::with_archive(store.clone()).with_handover(store))
}

#[async_trait]
impl ScratchStore for OnNode {
    async fn open(&self, reads_while_sealed: bool) -> Result<Store, BoxError> {
        open(&self.url()?, reads_while_sealed).await
    }

    async fn cut_off(&self) -> Result<(), BoxError> {
        self.is_cut_off.store(true, Ordering::Relaxed);
        Ok(self.etcd()?.signal(0, "STOP")?)
    }

    async fn reconnect(&self) -> Result<(), BoxError> {
        self.etcd()?.signal(0, "CONT")?;
        self.is_cut_off.store(false, Ordering::Relaxed);
        Ok(())
    }

    async fn act_elsewhere(&self, action: &str) -> Result<(), BoxError> {
        act_in_child("in_another_process", &self.url()?, action)
    }

    async fn delete_pet(&self, id: PetId) -> Result<(), BoxError> {
        let number = id.0.cast_unsigned() ^ (1 << 63);
        for folder in ["pets", "status/available", "status/pending", "status/sold"] {
            self.etcd()?.delete(&format!("{}/{folder}/{number:016x}", self.prefix))?;
        }
        Ok(())
    }
}

#[test]
fn in_another_process() -> Result<(), Failure> {
    act_as_child(|url| async move { open(&url, false).await })
}

/// The kit's harness.
struct OnEtcd;

#[async_trait]
impl Harness for OnEtcd {
    async fn fresh(&self) -> Result<Box<dyn ScratchStore>, BoxError> {
        Ok(Box::new(OnNode::new()?))
    }

    fn unsupported(&self, capability: Capability) -> Option<&'static str> {
        (capability == Capability::RefusedRow).then_some("etcd has no rules for values")
    }
}

petstore_conformance::conformance_tests!(OnEtcd; #[petstore_testing::needs(etcd)]);
