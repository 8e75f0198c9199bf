//! Every promise of the storage ports, on a real PostgreSQL.

use std::sync::Arc;

use async_trait::async_trait;
use petstore_conformance::{Harness, Problem, ScratchStore, Store};
use petstore_postgres::{PostgresConfig, PostgresStore};
use petstore_testing::{Database, postgres_or_skip};

/// On a busy machine a few calls that wait for each other take longer than the defaults allow.
const LONG_TIMEOUTS: &str = "pool_timeout=20s&statement_timeout=20s&call_timeout=25s";

struct Postgres;

#[async_trait]
impl Harness for Postgres {
    async fn fresh(&self) -> Result<Box<dyn ScratchStore>, Problem> {
        let database = postgres_or_skip("conformance").ok_or("no PostgreSQL")?;
        Ok(Box::new(InDatabase(database)))
    }
}

struct InDatabase(Database);

#[async_trait]
impl ScratchStore for InDatabase {
    async fn open(&self) -> Result<Store, Problem> {
        let url = &self.0.url;
        let separator = if url.contains('?') { '&' } else { '?' };
        let config = PostgresConfig::parse(&format!("{url}{separator}{LONG_TIMEOUTS}"))?;
        Ok(Store::with_archive(Arc::new(PostgresStore::connect(&config).await?)))
    }

    async fn cut_off(&self) -> Result<(), Problem> {
        Ok(self.0.cut_off()?)
    }

    async fn reconnect(&self) -> Result<(), Problem> {
        Ok(self.0.reconnect()?)
    }
}

petstore_conformance::conformance_tests!(Postgres);
