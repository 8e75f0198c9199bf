//! What the steps work on: a store with animals, keys, and the service over both.

use std::{
    path::Path,
    pin::pin,
    sync::Arc,
    task::{Context, Poll, Waker},
};

use petstore_domain::{
    ApiKeyRepository, ApiKeySecret, Catalogue, CategoryId, Clock, KeyName, KeyRing, NewApiKey,
    NewPet, PetName, PetRepository, PetStatus, ServiceKey, Timestamp,
};
use petstore_http::{Ports, Settings, bench::InProcess};
use petstore_sqlite::{SqliteConfig, SqliteStore, Synchronous};

/// Animals in the store.
const ANIMALS: i64 = 10_000;
/// The key of the configuration, beside those of the store.
pub(crate) const SERVICE_KEY: &str = "the-key-of-the-benchmark";

/// A clock that stands still, so that nothing happens in between.
struct Stopped;

impl Clock for Stopped {
    fn now(&self) -> Timestamp {
        Timestamp(1_800_000_000_000)
    }
}

/// Everything that steps need.
pub(crate) struct Ground {
    pub(crate) store: Arc<SqliteStore>,
    pub(crate) key_ring: Arc<KeyRing>,
    pub(crate) service: Arc<InProcess>,
}

/// A key as the service makes them.
pub(crate) fn key(number: u8) -> ApiKeySecret {
    ApiKeySecret::from_entropy(&[number; 32])
}

fn config(path: &Path) -> SqliteConfig {
    // The disk is not measured here.
    SqliteConfig { path: path.to_owned(), synchronous: Synchronous::Normal }
}

/// Makes the store.
pub(crate) fn fill(path: &Path) {
    let runtime = tokio::runtime::Builder::new_current_thread().build().unwrap();
    let store = SqliteStore::open(&config(path)).unwrap();
    let key = key(1);
    let new_key = NewApiKey {
        name: KeyName::parse("bench").unwrap(),
        digest: key.digest(),
        prefix: key.prefix().to_owned(),
        created_at: Stopped.now(),
        expires_at: None,
    };
    runtime.block_on(async {
        ApiKeyRepository::add(&store, new_key, 1).await.unwrap();
        for number in 0..ANIMALS {
            PetRepository::add(&store, pet(number), None).await.unwrap();
        }
    });
}

/// The animal of a number; two of five are available.
pub(crate) fn pet(number: i64) -> NewPet {
    let statuses = [Some(PetStatus::Available), Some(PetStatus::Pending), Some(PetStatus::Sold)];
    let status = [statuses[0], statuses[1], statuses[0], statuses[2], None];
    NewPet {
        name: PetName::parse(format!("Bella {number}")).unwrap(),
        category_id: CategoryId(number % 50),
        status: status[usize::try_from(number).unwrap() % status.len()],
    }
}

impl Ground {
    /// On a store that was filled.
    pub(crate) fn open(path: &Path) -> Self {
        let store = Arc::new(SqliteStore::open(&config(path)).unwrap());
        let clock: Arc<dyn Clock> = Arc::new(Stopped);
        let service_key = ServiceKey::parse(SERVICE_KEY).unwrap();
        let key_ring = KeyRing::new(store.clone(), clock.clone(), Some(service_key));
        let key_ring = Arc::new(key_ring);
        let pets = Arc::new(Catalogue::new(store.clone(), clock.clone()));
        let ports = Ports { pets, authenticator: key_ring.clone(), clock };
        let service = Arc::new(InProcess::new(ports, Settings::default()));
        Self { store, key_ring, service }
    }
}

/// The value of a future that waits for nothing.
pub(crate) fn now<T>(future: impl Future<Output = T>) -> T {
    match pin!(future).poll(&mut Context::from_waker(Waker::noop())) {
        Poll::Ready(value) => value,
        Poll::Pending => unreachable!("reading from SQLite waits for nobody"),
    }
}
