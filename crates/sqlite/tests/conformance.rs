//! The conformance kit on SQLite, with the default `synchronous=full`.

#![expect(clippy::unwrap_used, reason = "tests")]

use std::{
    path::{Path, PathBuf},
    sync::{Arc, Mutex},
};

use async_trait::async_trait;
use petstore_conformance::{BoxError, Failure, Harness, ScratchStore, Store};
use petstore_domain::PetId;
use petstore_sqlite::{SqliteConfig, SqliteSettings, SqliteStore, Synchronous};
use rusqlite::Connection;
use tempfile::TempDir;

struct Sqlite;

#[async_trait]
impl Harness for Sqlite {
    async fn fresh(&self) -> Result<Box<dyn ScratchStore>, BoxError> {
        Ok(Box::new(Directory { hog: Mutex::new(None), directory: TempDir::new()? }))
    }
}

/// A directory with one database.
struct Directory {
    /// A foreign connection that holds the write lock. Reads continue.
    hog: Mutex<Option<Connection>>,
    directory: TempDir,
}

impl Directory {
    fn path(&self) -> PathBuf {
        self.directory.path().join("petstore.db")
    }
}

fn open(path: &Path, reads_while_sealed: bool) -> Result<Store, BoxError> {
    let config = SqliteConfig { path: path.to_owned(), synchronous: Synchronous::Full };
    let settings = SqliteSettings { reads_while_sealed, ..SqliteSettings::default() };
    let store = Arc::new(SqliteStore::open_with(&config, &settings)?);
    Ok(Store::with_archive(store.clone()).with_handover(store))
}

#[async_trait]
impl ScratchStore for Directory {
    async fn open(&self, reads_while_sealed: bool) -> Result<Store, BoxError> {
        open(&self.path(), reads_while_sealed)
    }

    async fn cut_off(&self) -> Result<(), BoxError> {
        let hog = Connection::open(self.path())?;
        hog.execute_batch("BEGIN IMMEDIATE")?;
        *self.hog.lock().unwrap() = Some(hog);
        Ok(())
    }

    async fn reconnect(&self) -> Result<(), BoxError> {
        *self.hog.lock().unwrap() = None;
        Ok(())
    }

    async fn act_elsewhere(&self, action: &str) -> Result<(), BoxError> {
        let path = self.path();
        petstore_conformance::act_in_child("in_another_process", path.to_str().unwrap(), action)
    }

    async fn forbid_equal_names(&self) -> Result<(), BoxError> {
        let rule = "CREATE UNIQUE INDEX operator_rule ON pet (name)";
        Ok(Connection::open(self.path())?.execute_batch(rule)?)
    }

    async fn delete_pet(&self, id: PetId) -> Result<(), BoxError> {
        Connection::open(self.path())?.execute("DELETE FROM pet WHERE id = ?1", [id.0])?;
        Ok(())
    }
}

petstore_conformance::conformance_tests!(Sqlite);

/// The kit runs this test in another process.
#[test]
fn in_another_process() -> Result<(), Failure> {
    petstore_conformance::act_as_child(async |place| open(place.as_ref(), false))
}
