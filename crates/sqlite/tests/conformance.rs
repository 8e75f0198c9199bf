//! The contract of the storage ports, kept on SQLite.

use std::{
    sync::{Arc, Mutex, PoisonError},
    time::Duration,
};

use async_trait::async_trait;
use petstore_conformance::{Harness, Problem, ScratchStore, Store};
use petstore_sqlite::{SqliteConfig, SqliteStore, Synchronous};
use rusqlite::Connection;
use tempfile::TempDir;

struct Sqlite;

#[async_trait]
impl Harness for Sqlite {
    async fn fresh(&self) -> Result<Box<dyn ScratchStore>, Problem> {
        Ok(Box::new(Directory { hog: Mutex::new(None), directory: TempDir::new()? }))
    }

    fn outage_timeout(&self) -> Duration {
        Duration::from_secs(20)
    }
}

/// A directory with one database in it.
struct Directory {
    /// Somebody else, who holds the write lock. Reads go on.
    hog: Mutex<Option<Connection>>,
    directory: TempDir,
}

impl Directory {
    fn set_hog(&self, hog: Option<Connection>) {
        *self.hog.lock().unwrap_or_else(PoisonError::into_inner) = hog;
    }
}

#[async_trait]
impl ScratchStore for Directory {
    async fn open(&self) -> Result<Store, Problem> {
        let path = self.directory.path().join("petstore.db");
        let config = SqliteConfig { path, synchronous: Synchronous::Normal };
        let store = Arc::new(SqliteStore::open(&config)?);
        Ok(Store::with_archive(store.clone()).with_handover(store))
    }

    async fn cut_off(&self) -> Result<(), Problem> {
        let hog = Connection::open(self.directory.path().join("petstore.db"))?;
        hog.execute_batch("BEGIN IMMEDIATE")?;
        self.set_hog(Some(hog));
        Ok(())
    }

    async fn reconnect(&self) -> Result<(), Problem> {
        self.set_hog(None);
        Ok(())
    }
}

petstore_conformance::conformance_tests!(Sqlite);
