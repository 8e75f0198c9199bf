//! Stores on throw-away databases, and short helpers.

use std::{
    fmt::Debug,
    future::Future,
    process,
    sync::atomic::{AtomicU32, Ordering},
    time::{Duration, Instant},
};

use petstore_domain::{
    Added, ApiKeySecret, CategoryId, Idempotency, IdempotencyKey, IdempotencyRequest, KeyDigest,
    KeyName, NewApiKey, NewPet, PageLimit, Pet, PetId, PetName, PetQuery, PetRepository, Timestamp,
};
use petstore_postgres::{PostgresConfig, PostgresStore};
use petstore_testing::{Cluster, Database};
use tokio_postgres::{Client, NoTls};

pub(crate) const NOW: Timestamp = Timestamp(1_800_000_000_000);
/// The time by which a busy machine may exceed a time limit.
pub(crate) const SLACK: Duration = Duration::from_secs(15);
/// The time within which a store must work again after an outage.
pub(crate) const RECOVERY: Duration = Duration::from_secs(5).saturating_add(SLACK);

pub(crate) async fn open(url: &str) -> PostgresStore {
    petstore_testing::limit_time();
    PostgresStore::connect(&PostgresConfig::parse(url).unwrap()).await.unwrap()
}

/// Returns the reason why a store is not opened.
pub(crate) async fn refusal(url: &str) -> String {
    let config = PostgresConfig::parse(url).unwrap();
    PostgresStore::connect(&config).await.map(drop).unwrap_err().to_string()
}

/// A role that may read and write the tables of a database. Dropping the value drops the role.
pub(crate) struct Role<'a> {
    pub(crate) name: String,
    database: &'a Database,
}

impl<'a> Role<'a> {
    pub(crate) fn new(database: &'a Database) -> Self {
        static COUNT: AtomicU32 = AtomicU32::new(0);
        let number = COUNT.fetch_add(1, Ordering::Relaxed);
        let name = format!("petstore_role_{}_{number}", process::id());
        let grants = format!(
            "CREATE ROLE {name} LOGIN PASSWORD 'secret'; \
             GRANT SELECT, INSERT, UPDATE, DELETE ON ALL TABLES IN SCHEMA public TO {name}; \
             GRANT USAGE ON ALL SEQUENCES IN SCHEMA public TO {name}"
        );
        database.sql(&grants).unwrap();
        Self { name, database }
    }

    /// Returns the store URL of the role.
    pub(crate) fn url(&self) -> String {
        let place = self.database.url.split_once('@').unwrap().1;
        format!("postgres://{}:secret@{place}", self.name)
    }
}

impl Drop for Role<'_> {
    fn drop(&mut self) {
        self.database.disconnect_all().unwrap();
        self.database.sql(&format!("DROP OWNED BY {0}; DROP ROLE {0}", self.name)).unwrap();
    }
}

/// Returns a session that has run `sql`. Dropping the session ends its transaction.
pub(crate) async fn session(database: &Database, sql: &str) -> Client {
    let (client, wire) = tokio_postgres::connect(&database.url, NoTls).await.unwrap();
    tokio::spawn(wire);
    client.batch_execute(sql).await.unwrap();
    client
}

/// Waits until the server waits for its standby, and cancels that wait, as an operator might.
pub(crate) fn cancel_wait(primary: &Cluster) {
    let waiting = "FROM pg_stat_activity WHERE wait_event = 'SyncRep'";
    primary.wait_for(&format!("SELECT count(*) {waiting}"), "1").unwrap();
    primary.sql(&format!("SELECT pg_cancel_backend(pid) {waiting}")).unwrap();
}

pub(crate) fn new_pet(name: &str) -> NewPet {
    NewPet { name: PetName::parse(name).unwrap(), category_id: CategoryId(1), status: None }
}

pub(crate) fn request(key: &str, pet: &NewPet) -> IdempotencyRequest {
    let key = IdempotencyKey::parse(key).unwrap();
    IdempotencyRequest::new(Idempotency { caller: KeyDigest([7; 32]), key }.id(), pet, NOW)
}

/// Adds an animal, which must be new.
pub(crate) async fn add(store: &PostgresStore, name: &str) -> Pet {
    match PetRepository::add(store, new_pet(name), None).await.unwrap() {
        Added::Created(pet) => pet,
        Added::Replayed(pet) => panic!("{pet:?} was there before"),
    }
}

/// Returns every animal, read page by page.
pub(crate) async fn all(store: &PostgresStore) -> Vec<Pet> {
    let mut pets: Vec<Pet> = Vec::new();
    loop {
        let page = store.list(query(100, pets.last().map(|pet| pet.id))).await.unwrap().value;
        pets.extend(page.pets);
        if !page.more {
            return pets;
        }
    }
}

pub(crate) fn query(limit: u8, after: Option<PetId>) -> PetQuery {
    PetQuery { limit: PageLimit::new(limit).unwrap(), status: None, after }
}

pub(crate) fn new_key(seed: u8, name: &str) -> NewApiKey {
    let secret = ApiKeySecret::from_entropy(&[seed; 32]);
    NewApiKey::new(KeyName::parse(name).unwrap(), &secret, NOW, None)
}

/// Repeats `work` until it succeeds, at most for [`RECOVERY`].
pub(crate) async fn recovers<T, E: Debug, F: Future<Output = Result<T, E>>>(
    work: impl Fn() -> F,
) -> T {
    let began = Instant::now();
    loop {
        match work().await {
            Ok(value) => return value,
            Err(error) => {
                assert!(began.elapsed() < RECOVERY, "no success within {RECOVERY:?}: {error:?}");
            }
        }
        tokio::time::sleep(Duration::from_millis(20)).await;
    }
}
