//! Temporary stores and helpers.

use std::{
    collections::BTreeMap,
    fs,
    path::{Path, PathBuf},
    sync::{Barrier, LazyLock},
    thread,
    time::{Duration, Instant},
};

use petstore_domain::{
    Added, ApiKeySecret, CatalogueVersion, CategoryId, IdempotencyId, IdempotencyRequest, KeyName,
    NewApiKey, NewPet, PageLimit, Pet, PetId, PetName, PetPage, PetQuery, PetRepository, Timestamp,
};
use petstore_sqlite::{OpenError, SqliteConfig, SqliteStore, Synchronous};
use rusqlite::Connection;
use tempfile::TempDir;
use tokio::runtime::{Handle, Runtime};

/// The oldest schema version that can be upgraded.
pub(crate) const FIRST: i32 = 7;
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

    pub(crate) fn config(&self) -> SqliteConfig {
        SqliteConfig { path: self.path(), synchronous: Synchronous::Normal }
    }

    pub(crate) fn open(&self) -> SqliteStore {
        self.try_open().unwrap()
    }

    pub(crate) fn try_open(&self) -> Result<SqliteStore, OpenError> {
        open(&self.path())
    }

    /// Opens the store four times, in four threads at the same time.
    pub(crate) fn open_by_four_at_once(&self) -> [SqliteStore; 4] {
        let together = Barrier::new(4);
        thread::scope(|scope| {
            let openers = [(); 4].map(|()| {
                scope.spawn(|| {
                    together.wait();
                    self.open()
                })
            });
            openers.map(|opener| opener.join().unwrap())
        })
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

pub(crate) fn open(path: &Path) -> Result<SqliteStore, OpenError> {
    let _guard = Handle::try_current().is_err().then(|| RUNTIME.enter());
    SqliteStore::open(&SqliteConfig { path: path.to_owned(), synchronous: Synchronous::Normal })
}

pub(crate) fn rex() -> NewPet {
    NewPet { name: PetName::parse("Rex").unwrap(), category_id: CategoryId(1), status: None }
}

/// Returns a request to add [`rex`] once.
pub(crate) fn once() -> IdempotencyRequest {
    IdempotencyRequest::new(IdempotencyId([1; 16]), &rex(), NOW)
}

/// Adds `pet`, which must be new.
pub(crate) async fn add(store: &SqliteStore, pet: NewPet) -> Pet {
    match PetRepository::add(store, pet, None).await.unwrap() {
        Added::Created(pet) => pet,
        Added::Replayed(pet) => panic!("{pet:?} was there before"),
    }
}

pub(crate) fn query(limit: u8, after: Option<i64>) -> PetQuery {
    PetQuery { limit: PageLimit::new(limit).unwrap(), status: None, after: after.map(PetId) }
}

pub(crate) async fn page(store: &SqliteStore, query: PetQuery) -> PetPage {
    PetRepository::list(store, query).await.unwrap().value
}

/// Reads every animal page by page.
pub(crate) async fn all(store: &SqliteStore) -> Vec<Pet> {
    let mut pets: Vec<Pet> = Vec::new();
    loop {
        let after = pets.last().map(|pet| pet.id.0);
        let page = page(store, query(100, after)).await;
        pets.extend(page.pets);
        if !page.more {
            return pets;
        }
    }
}

pub(crate) fn new_key(seed: u8, name: &str) -> NewApiKey {
    let secret = ApiKeySecret::from_entropy(&[seed; 32]);
    NewApiKey::new(KeyName::parse(name).unwrap(), &secret, NOW, None)
}

/// Returns the version. After an idle period, it is unknown for a moment.
pub(crate) fn version(store: &SqliteStore) -> CatalogueVersion {
    let began = Instant::now();
    loop {
        if let Some(version) = PetRepository::version(store) {
            return version;
        }
        assert!(began.elapsed() < Duration::from_mins(1), "the version stays unknown");
        thread::sleep(Duration::from_millis(1));
    }
}
