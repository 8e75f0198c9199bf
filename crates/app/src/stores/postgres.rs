//! `postgres://…`, a PostgreSQL database.

use std::{
    fmt,
    path::Path,
    sync::{Arc, Weak},
};

use async_trait::async_trait;
use petstore_domain::StoreError;
use petstore_http::Sample;
use petstore_postgres::{Activity, OpenError, PostgresConfig, PostgresSettings, PostgresStore};
use petstore_storage::{Finding, Upgrade, UpgradeMode};
use tokio_util::sync::CancellationToken;

use crate::stores::{
    background::in_background,
    driver::{
        BoxError, OnBackupProgress, OpenMode, OpenOptions, OpenStore, StoreDriver, StoreLocation,
        problem,
    },
};

/// The entry of `postgres://…`.
pub(super) const DRIVER: StoreDriver = StoreDriver {
    schemes: &["postgres", "postgresql"],
    usage: "postgres://USER:PASSWORD@HOST[,HOST]/DATABASE",
    summary: "a PostgreSQL database, for any number of instances",
    is_persistent: true,
    parse: |url| Ok(Arc::new(Database(PostgresConfig::parse(url)?))),
};

struct Database(PostgresConfig);

impl fmt::Display for Database {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

#[async_trait]
impl StoreLocation for Database {
    async fn open(&self, options: OpenOptions) -> Result<OpenStore, BoxError> {
        let panicked = CancellationToken::new();
        let settings = PostgresSettings {
            create: options.mode == OpenMode::Create,
            reads_while_sealed: options.reads_while_sealed,
            on_task_panic: panicked.clone(),
        };
        let store = Arc::new(PostgresStore::open(&self.0, settings).await.map_err(not_open)?);
        let (open, measured) = (Arc::downgrade(&store), Arc::downgrade(&store));
        let bytes = in_background(move || {
            let store = measured.upgrade();
            async move { store?.database_bytes().await.ok() }
        });
        let mut opened = OpenStore::new(store.clone())
            .with_archive(store.clone())
            .with_handover(store.clone())
            .with_samples(move || samples(&open, bytes()))
            .with_panic_token(panicked);
        if store.was_created() {
            opened = opened.newly_created(&self.0);
        }
        // Writes the additions that are still queued.
        Ok(opened.with_close(async move {
            store.close().await;
        }))
    }

    async fn identity(&self) -> Option<String> {
        self.0.identity().await.map(|identity| format!("postgres:{identity}"))
    }

    async fn upgrade(&self, mode: UpgradeMode) -> Result<Option<Upgrade>, BoxError> {
        Ok(PostgresStore::upgrade(&self.0, mode).await.map_err(StoreError::from)?)
    }

    async fn inspect(&self) -> Result<Vec<Finding>, BoxError> {
        let store =
            PostgresStore::open(&self.0, PostgresSettings::default()).await.map_err(not_open)?;
        Ok(store.inspect().await?)
    }

    async fn back_up(&self, _: &Path, _: OnBackupProgress) -> Result<(), BoxError> {
        let message = "PostgreSQL makes its own backups: use 'pg_dump --format=custom --file=FILE \
                       --dbname=URL', and 'pg_restore --dbname=URL FILE' into an empty database";
        Err(message.into())
    }
}

fn not_open(error: OpenError) -> BoxError {
    let is_missing = error.is_missing();
    problem(error, is_missing)
}

/// Returns the samples of the store; none once it is closed.
fn samples(store: &Weak<PostgresStore>, bytes: Option<u64>) -> Vec<Sample> {
    let Some(store) = store.upgrade() else { return Vec::new() };
    let Activity { connections, idle, waiting } = store.activity();
    let gauge = |name, help, value: usize| Sample::gauge(name, help, value as u64);
    let mut samples = vec![
        gauge(
            "petstore_postgres_pool_connections",
            "Connections of the pool that are open or being made.",
            connections,
        ),
        gauge(
            "petstore_postgres_pool_idle_connections",
            "Connections of the pool that no call uses.",
            idle,
        ),
        gauge("petstore_postgres_pool_waiting_calls", "Calls that wait for a connection.", waiting),
    ];
    let size = |bytes| {
        Sample::gauge("petstore_postgres_database_bytes", "Size of the whole database.", bytes)
    };
    samples.extend(bytes.map(size));
    samples
}

#[cfg(test)]
mod tests {
    use super::DRIVER;

    #[test]
    fn a_database_is_shown_without_its_password() {
        let url = "postgres://me:hush@host,other:5433/zoo";
        let shown = (DRIVER.parse)(url).unwrap().to_string();
        assert_eq!(shown, "postgres://me:…@host:5432,other:5433/zoo");
    }

    #[test]
    fn a_url_without_a_database_is_refused_without_its_password() {
        for (url, reason) in [
            ("postgres://user:secret@localhost", "no database is named"),
            ("postgresql:", "write postgres://USER:PASSWORD@HOST"),
        ] {
            let refusal = (DRIVER.parse)(url).map(drop).unwrap_err().to_string();
            assert!(refusal.contains(reason) && !refusal.contains("secret"), "{refusal}");
        }
    }
}
