//! Every promise of the storage ports, on real nodes of etcd.

use std::sync::Arc;

use async_trait::async_trait;
use petstore_conformance::{Harness, Problem, ScratchStore, Store};
use petstore_etcd::{EtcdConfig, EtcdSettings, EtcdStore};
use petstore_testing::{Etcd, etcd_or_skip};

/// How nodes are made to answer no more, and to answer again.
#[derive(Clone, Copy)]
enum Outage {
    Killed,
    Frozen,
}

/// A prefix on a node of its own.
struct OnNode {
    etcd: Etcd,
    outage: Outage,
}

impl OnNode {
    fn start(outage: Outage) -> Result<Box<dyn ScratchStore>, Problem> {
        let etcd = etcd_or_skip("conformance", 1).ok_or("no etcd")?;
        Ok(Box::new(Self { etcd, outage }))
    }
}

#[async_trait]
impl ScratchStore for OnNode {
    async fn open(&self) -> Result<Store, Problem> {
        let config = EtcdConfig::parse(&format!("etcd://{}/kit", self.etcd.endpoints()))?;
        let settings = EtcdSettings { create: true, ..EtcdSettings::default() };
        let store = Arc::new(EtcdStore::open(&config, settings).await?);
        Ok(Store::with_archive(store.clone()).with_handover(store))
    }

    async fn cut_off(&self) -> Result<(), Problem> {
        match self.outage {
            Outage::Killed => self.etcd.kill(0),
            Outage::Frozen => self.etcd.signal(0, "STOP")?,
        }
        Ok(())
    }

    async fn reconnect(&self) -> Result<(), Problem> {
        match self.outage {
            Outage::Killed => self.etcd.resume(0)?,
            Outage::Frozen => self.etcd.signal(0, "CONT")?,
        }
        Ok(())
    }
}

mod killed {
    use super::{Harness, OnNode, Outage, Problem, ScratchStore};

    struct Killed;

    #[async_trait::async_trait]
    impl Harness for Killed {
        async fn fresh(&self) -> Result<Box<dyn ScratchStore>, Problem> {
            OnNode::start(Outage::Killed)
        }
    }

    petstore_conformance::conformance_tests!(Killed; #[petstore_testing::needs(etcd)]);
}

mod frozen {
    use super::{Harness, OnNode, Outage, Problem, ScratchStore};

    struct Frozen;

    #[async_trait::async_trait]
    impl Harness for Frozen {
        async fn fresh(&self) -> Result<Box<dyn ScratchStore>, Problem> {
            OnNode::start(Outage::Frozen)
        }
    }

    petstore_conformance::conformance_tests!(Frozen; #[petstore_testing::needs(etcd)]);
}
