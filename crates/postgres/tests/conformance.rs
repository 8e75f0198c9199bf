//! The conformance kit on a real PostgreSQL.

use std::sync::Arc;

use async_trait::async_trait;
use petstore_conformance::{BoxError, Failure, Harness, ScratchStore, Store};
use petstore_domain::PetId;
use petstore_postgres::{OpenSettings, PostgresConfig, PostgresStore};
use petstore_testing::{Database, Pooler, Pooling};

/// Time limits for a busy machine, on which calls that wait for each other exceed the defaults.
const LONG_TIMEOUTS: &str = "pool_timeout=20s&statement_timeout=20s&call_timeout=25s";
/// Time limits below the time limits of the conformance kit. Through a pooler, a call to an unreachable server waits
/// until its own deadline.
const SHORTER_TIMEOUTS: &str = "pool_timeout=7s&statement_timeout=7s&call_timeout=8s";

/// A database and its URL.
struct InDatabase {
    database: Database,
    url: String,
    timeouts: &'static str,
}

#[async_trait]
impl ScratchStore for InDatabase {
    async fn open(&self, reads_while_sealed: bool) -> Result<Store, BoxError> {
        open(&self.url_with_timeouts(), reads_while_sealed).await
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
        petstore_conformance::act_in_child("in_another_process", &self.url_with_timeouts(), action)
    }
}

impl InDatabase {
    fn url_with_timeouts(&self) -> String {
        let separator = if self.url.contains('?') { '&' } else { '?' };
        format!("{}{separator}{}", self.url, self.timeouts)
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

fn database() -> Result<Database, BoxError> {
    Ok(Database::create()?)
}

/// Each connection has its own session.
mod directly {
    use std::time::Duration;

    use super::{
        BoxError, Harness, InDatabase, LONG_TIMEOUTS, ScratchStore, async_trait, database,
    };

    struct Postgres;

    #[async_trait]
    impl Harness for Postgres {
        async fn fresh(&self) -> Result<Box<dyn ScratchStore>, BoxError> {
            let database = database()?;
            Ok(Box::new(InDatabase {
                url: database.url.clone(),
                timeouts: LONG_TIMEOUTS,
                database,
            }))
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

    use super::{
        BoxError, Harness, InDatabase, Pooler, Pooling, SHORTER_TIMEOUTS, ScratchStore,
        async_trait, database,
    };

    struct Pooled;

    #[async_trait]
    impl Harness for Pooled {
        async fn fresh(&self) -> Result<Box<dyn ScratchStore>, BoxError> {
            static SHARED: OnceLock<Result<Pooler, String>> = OnceLock::new();
            let database = database()?;
            let pooler = SHARED.get_or_init(|| Pooler::start(Pooling::Transaction, &database.url));
            let url = pooler.as_ref().map_err(String::as_str)?.url(&database.url);
            Ok(Box::new(InDatabase { database, url, timeouts: SHORTER_TIMEOUTS }))
        }
    }

    petstore_conformance::conformance_tests!(Pooled; #[petstore_testing::needs(postgres, pgbouncer, time)]);
}
