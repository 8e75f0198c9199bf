//! The conformance kit on a real PostgreSQL.

use std::sync::Arc;

use async_trait::async_trait;
use petstore_conformance::{BoxError, Failure, Harness, ScratchStore, Store};
use petstore_domain::PetId;
use petstore_postgres::{OpenSettings, PostgresConfig, PostgresStore};
use petstore_testing::Database;

/// Time limits for a busy machine, on which calls that wait for each other exceed the defaults.
const LONG_TIMEOUTS: &str = "pool_timeout=20s&statement_timeout=20s&call_timeout=25s";
/// Time limits below the time limits of the conformance kit. Through a pooler, a call to an unreachable server waits
/// until its own deadline.
const SHORTER_TIMEOUTS: &str = "pool_timeout=7s&statement_timeout=7s&call_timeout=8s";

/// A database, and its URL with time limits.
struct InDatabase {
    database: Database,
    url: String,
}

impl InDatabase {
    fn boxed(database: Database, url: &str, timeouts: &str) -> Box<dyn ScratchStore> {
        let separator = if url.contains('?') { '&' } else { '?' };
        Box::new(Self { database, url: format!("{url}{separator}{timeouts}") })
    }
}

#[async_trait]
impl ScratchStore for InDatabase {
    async fn open(&self, reads_while_sealed: bool) -> Result<Store, BoxError> {
        open(&self.url, reads_while_sealed).await
    }

    async fn cut_off(&self) -> Result<(), BoxError> {
        Ok(self.database.cut_off()?)
    }

    async fn reconnect(&self) -> Result<(), BoxError> {
        Ok(self.database.reconnect()?)
    }

    async fn delete_pet(&self, id: PetId) -> Result<(), BoxError> {
        Ok(self.database.sql(&format!("DELETE FROM pet WHERE id = {}", id.0)).map(drop)?)
    }

    async fn forbid_equal_names(&self) -> Result<(), BoxError> {
        Ok(self.database.sql("CREATE UNIQUE INDEX operator_rule ON pet (name)").map(drop)?)
    }

    async fn act_elsewhere(&self, action: &str) -> Result<(), BoxError> {
        petstore_conformance::act_in_child("in_another_process", &self.url, action)
    }
}

async fn open(url: &str, reads_while_sealed: bool) -> Result<Store, BoxError> {
    let settings = OpenSettings { create: true, reads_while_sealed, ..Default::default() };
    let store = Arc::new(PostgresStore::open(&PostgresConfig::parse(url)?, settings).await?);
    Ok(Store::with_archive(store.clone()).with_handover(store))
}

/// The kit runs this test in another process.
#[test]
fn in_another_process() -> Result<(), Failure> {
    petstore_conformance::act_as_child(|url| async move { open(&url, false).await })
}

/// Each connection has its own session.
mod directly {
    use std::time::Duration;

    use super::{
        BoxError, Database, Harness, InDatabase, LONG_TIMEOUTS, ScratchStore, async_trait,
    };

    struct Postgres;

    #[async_trait]
    impl Harness for Postgres {
        async fn fresh(&self) -> Result<Box<dyn ScratchStore>, BoxError> {
            let database = Database::create()?;
            let url = database.url.clone();
            Ok(InDatabase::boxed(database, &url, LONG_TIMEOUTS))
        }

        /// More than `call_timeout`: an addition with a key whose commit is in doubt is tried until that deadline.
        fn outage_timeout(&self) -> Duration {
            Duration::from_secs(30)
        }
    }

    petstore_conformance::conformance_tests!(Postgres; #[petstore_testing::needs(postgres)]);
}

/// All connections share four sessions, each lent for one transaction.
mod through_pgbouncer {
    use std::sync::OnceLock;

    use petstore_testing::{Pooler, Pooling};

    use super::{
        BoxError, Database, Harness, InDatabase, SHORTER_TIMEOUTS, ScratchStore, async_trait,
    };

    struct Pooled;

    #[async_trait]
    impl Harness for Pooled {
        async fn fresh(&self) -> Result<Box<dyn ScratchStore>, BoxError> {
            static SHARED: OnceLock<Result<Pooler, String>> = OnceLock::new();
            let database = Database::create()?;
            let pooler = SHARED.get_or_init(|| Pooler::start(Pooling::Transaction, &database.url));
            let url = pooler.as_ref().map_err(String::as_str)?.url(&database.url);
            Ok(InDatabase::boxed(database, &url, SHORTER_TIMEOUTS))
        }
    }

    petstore_conformance::conformance_tests!(Pooled; #[petstore_testing::needs(postgres, pgbouncer, time)]);
}
