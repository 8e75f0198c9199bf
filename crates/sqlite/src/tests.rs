//! Tests of internals, and their helpers.

mod failures;
pub(crate) mod groups;
mod panics;
mod plans;
mod reads;
mod settings;
mod version;

use std::{
    path::PathBuf,
    pin::Pin,
    sync::mpsc,
    task::{Context, Waker},
    time::Duration,
};

use petstore_domain::{
    Added, CatalogueVersion, CategoryId, NewPet, Pet, PetId, PetName, PetRepository,
};
use rusqlite::Connection;
use tempfile::TempDir;
use tokio::{
    sync::oneshot,
    time::{sleep, timeout},
};

use crate::{
    config::{SqliteConfig, Synchronous},
    open::open,
    readers::watch::INTERVAL,
    store::{SqliteSettings, SqliteStore},
};

/// A time limit that the slowest machine keeps.
pub(crate) const LIMIT: Duration = Duration::from_mins(1);

/// The longest wait of a writer for a lock.
pub(crate) const SHORT: Duration = Duration::from_millis(50);

/// A directory for the store of one test. Its writer waits [`SHORT`] for a lock.
pub(crate) struct Place(TempDir);

impl Place {
    pub(crate) fn new() -> Self {
        Self(TempDir::new().unwrap())
    }

    pub(crate) fn path(&self) -> PathBuf {
        self.0.path().join("petstore.db")
    }

    pub(crate) fn config(&self) -> SqliteConfig {
        SqliteConfig { path: self.path(), synchronous: Synchronous::Normal }
    }

    pub(crate) fn open(&self) -> SqliteStore {
        open(&self.config(), &SqliteSettings::default(), SHORT).unwrap()
    }

    /// Opens a connection as another process would.
    pub(crate) fn raw(&self) -> Connection {
        Connection::open(self.path()).unwrap()
    }

    /// Returns the number that `sql` selects.
    pub(crate) fn number(&self, sql: &str) -> i64 {
        self.raw().query_row(sql, [], |row| row.get(0)).unwrap()
    }

    /// Returns the number of committed animals.
    fn count(&self) -> i64 {
        self.number("SELECT count(*) FROM pet")
    }

    /// Returns the version in the file.
    fn version(&self) -> CatalogueVersion {
        let version = self.raw().query_row(crate::version::SELECT, [], |row| row.get(0)).unwrap();
        CatalogueVersion(u128::from_be_bytes(version))
    }
}

fn rex() -> NewPet {
    NewPet { name: PetName::parse("Rex").unwrap(), category_id: CategoryId(1), status: None }
}

async fn add(store: &SqliteStore) -> Pet {
    match in_time(PetRepository::add(store, rex(), None)).await.unwrap() {
        Added::Created(pet) => pet,
        Added::Replayed(pet) => panic!("{pet:?} was there before"),
    }
}

async fn found(store: &SqliteStore, id: PetId) -> bool {
    store.find(id).await.unwrap().value.is_some()
}

/// Returns the version. After an idle period, it is unknown for a moment.
async fn known_version(store: &SqliteStore) -> CatalogueVersion {
    let known = async {
        loop {
            match store.version() {
                Some(version) => break version,
                None => sleep(INTERVAL / 10).await,
            }
        }
    };
    in_time(known).await
}

/// Returns the output of `future`. Fails after [`LIMIT`], so that a broken writer does not hang the test.
async fn in_time<T>(future: impl Future<Output = T>) -> T {
    timeout(LIMIT, future).await.expect("the store should answer in time")
}

/// Polls a call once, which queues it.
pub(crate) fn begin<F: Future>(call: F) -> Pin<Box<F>> {
    let mut call = Box::pin(call);
    assert!(call.as_mut().poll(&mut Context::from_waker(Waker::noop())).is_pending());
    call
}

/// Blocks the writer until the sender is used or dropped. The writes that are queued meanwhile form one group.
async fn block_writer(store: &SqliteStore) -> mpsc::Sender<()> {
    let (release, until) = mpsc::channel();
    let (started, has_started) = oneshot::channel();
    let work = move |_: &Connection| {
        let _ = started.send(());
        let _ = until.recv();
        Ok(())
    };
    let _blocking = begin(store.writer().unwrap().write(work));
    in_time(has_started).await.unwrap();
    release
}
