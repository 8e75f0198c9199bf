//! Throw-away stores: each in a schema of its own, in the database that the URL names.

use std::{
    mem,
    sync::{Arc, Mutex, PoisonError},
};

use async_trait::async_trait;
use petstore_conformance::{Capability, Harness, ScratchStore, Store};
use petstore_postgres::{PostgresConfig, PostgresStore};

use crate::driver::Problem;

/// Names new schemas, and drops those that were named.
#[derive(Clone)]
pub(super) struct Schemas {
    config: PostgresConfig,
    named: Arc<Mutex<Vec<PostgresConfig>>>,
}

impl Schemas {
    /// In the database that `config` names; a schema that it names is not used.
    pub(super) fn new(config: PostgresConfig) -> Self {
        Self { config, named: Arc::default() }
    }

    /// Drops them all. What cannot be dropped is named by the error.
    pub(super) async fn drop_all(&self) -> Result<(), Problem> {
        let named = mem::take(&mut *self.named.lock().unwrap_or_else(PoisonError::into_inner));
        for config in named {
            config.drop_schema().await.map_err(|error| {
                format!(
                    "{error}; schemas named petstore_conformance_… may be left there: drop them"
                )
            })?;
        }
        Ok(())
    }
}

#[async_trait]
impl Harness for Schemas {
    async fn fresh(&self) -> Result<Box<dyn ScratchStore>, Problem> {
        let random = getrandom::u64()?;
        let config = self.config.in_schema(&format!("petstore_conformance_{random:016x}"));
        self.named.lock().unwrap_or_else(PoisonError::into_inner).push(config.clone());
        Ok(Box::new(Schema(config)))
    }

    fn unsupported(&self, capability: Capability) -> Option<&'static str> {
        (capability == Capability::Outage).then_some("this command takes no store out of reach")
    }
}

struct Schema(PostgresConfig);

#[async_trait]
impl ScratchStore for Schema {
    async fn open(&self) -> Result<Store, Problem> {
        let store = Arc::new(PostgresStore::connect(&self.0).await?);
        Ok(Store::with_archive(store.clone()).with_relocation(store))
    }
}
