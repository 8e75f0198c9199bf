//! Temporary stores and helpers.

use std::{
    collections::BTreeMap,
    fs,
    path::{Path, PathBuf},
    sync::LazyLock,
};

use petstore_domain::{
    Added, ApiKeySecret, CategoryId, KeyName, NewApiKey, NewPet, PageLimit, Pet, PetName, PetQuery,
    PetRepository, Timestamp,
};
use petstore_sqlite::{OpenError, SqliteConfig, SqliteStore, Synchronous};
use rusqlite::Connection;
use tempfile::TempDir;
use tokio::runtime::{Handle, Runtime};

/// The schema version of this release.
pub(crate) const VERSION: i32 = 10;
pub(crate) const NOW: Timestamp = Timestamp(1_800_000_000_000);

/// A temporary directory for the store of one test.
pub(crate) struct Place(TempDir);

impl Place {
    pub(crate) fn new() -> Self {
        Self(TempDir::new().unwrap())
    }

    pub(crate) fn directory(&self) -> &Path {
        self.0.path()
    }

    pub(crate) fn path(&self) -> PathBuf {
        self.0.path().join("petstore.db")
    }

    /// Returns the path of a file that SQLite keeps beside the store.
    pub(crate) fn beside(&self, suffix: &str) -> PathBuf {
        petstore_sqlite::beside(&self.path(), suffix)
    }

    pub(crate) fn config(&self) -> SqliteConfig {
        config(&self.path())
    }

    pub(crate) fn open(&self) -> SqliteStore {
        self.try_open().unwrap()
    }

    pub(crate) fn try_open(&self) -> Result<SqliteStore, OpenError> {
        open(&self.path())
    }

    /// Opens a connection as another process would.
    pub(crate) fn raw(&self) -> Connection {
        Connection::open(self.path()).unwrap()
    }

    /// Returns the content of every file in the directory.
    pub(crate) fn content(&self) -> BTreeMap<PathBuf, Vec<u8>> {
        let entries = fs::read_dir(self.directory()).unwrap();
        entries
            .map(|entry| entry.unwrap().path())
            .map(|path| (path.clone(), fs::read(path).unwrap()))
            .collect()
    }
}

/// The tokio runtime for tests that do not run in a runtime.
static RUNTIME: LazyLock<Runtime> = LazyLock::new(|| Runtime::new().unwrap());

pub(crate) fn config(path: &Path) -> SqliteConfig {
    SqliteConfig { path: path.to_owned(), synchronous: Synchronous::Normal }
}

pub(crate) fn open(path: &Path) -> Result<SqliteStore, OpenError> {
    let _guard = Handle::try_current().is_err().then(|| RUNTIME.enter());
    SqliteStore::open(&config(path))
}

pub(crate) fn rex() -> NewPet {
    NewPet { name: PetName::parse("Rex").unwrap(), category_id: CategoryId(1), status: None }
}

/// Adds [`rex`].
pub(crate) async fn add(store: &SqliteStore) -> Pet {
    match PetRepository::add(store, rex(), None).await.unwrap() {
        Added::Created(pet) => pet,
        Added::Replayed(pet) => panic!("{pet:?} was there before"),
    }
}

pub(crate) fn query(limit: u8) -> PetQuery {
    PetQuery { limit: PageLimit::new(limit).unwrap(), ..PetQuery::default() }
}

/// Returns every animal of a store with at most a hundred.
pub(crate) async fn all(store: &SqliteStore) -> Vec<Pet> {
    let page = store.list(query(100)).await.unwrap().value;
    assert!(!page.more);
    page.pets
}

pub(crate) fn new_key(seed: u8, name: &str) -> NewApiKey {
    let secret = ApiKeySecret::from_entropy(&[seed; 32]);
    NewApiKey::new(KeyName::parse(name).unwrap(), &secret, NOW, None)
}
