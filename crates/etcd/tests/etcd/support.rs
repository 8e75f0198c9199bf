//! Opens stores on throw-away nodes.

use petstore_domain::{
    Added, ApiKeySecret, CategoryId, KeyName, NewApiKey, NewPet, PageLimit, Pet, PetName, PetQuery,
    PetRepository, StoreError, Timestamp,
};
use petstore_etcd::{EtcdConfig, EtcdStore, OpenSettings};
use petstore_testing::Etcd;

pub(crate) async fn try_open(url: &str, create: bool) -> Result<EtcdStore, String> {
    petstore_testing::limit_time();
    let config = EtcdConfig::parse(url).unwrap();
    let settings = OpenSettings { create, ..OpenSettings::default() };
    EtcdStore::open(&config, settings).await.map_err(|error| error.to_string())
}

pub(crate) async fn open(url: &str) -> EtcdStore {
    try_open(url, true).await.unwrap()
}

/// Returns the reason why a store is not opened, and will not be without a change by the operator.
pub(crate) async fn refusal(url: &str) -> String {
    let config = EtcdConfig::parse(url).unwrap();
    let settings = OpenSettings { create: true, ..OpenSettings::default() };
    let error = EtcdStore::open(&config, settings).await.map(drop).unwrap_err();
    let message = error.to_string();
    assert!(matches!(StoreError::from(error), StoreError::Refused(_)), "{message}");
    message
}

pub(crate) fn url(etcd: &Etcd) -> String {
    format!("etcd://{}/zoo", etcd.endpoints())
}

pub(crate) fn rex() -> NewPet {
    NewPet { name: PetName::parse("Rex").unwrap(), category_id: CategoryId(1), status: None }
}

/// Returns a key. Keys with the same seed have the same secret.
pub(crate) fn new_key(seed: u8) -> NewApiKey {
    let secret = ApiKeySecret::from_entropy(&[seed; 32]);
    let name = KeyName::parse(&format!("key-{seed}")).unwrap();
    NewApiKey::new(name, &secret, Timestamp(5), None)
}

/// Adds an animal, which must be new.
pub(crate) async fn add(store: &EtcdStore) -> Pet {
    match PetRepository::add(store, rex(), None).await.unwrap() {
        Added::Created(pet) => pet,
        Added::Replayed(pet) => panic!("{pet:?} is a repeat, not new"),
    }
}

/// Returns the first hundred animals.
pub(crate) async fn page(store: &EtcdStore) -> Vec<Pet> {
    let query = PetQuery { limit: PageLimit::MAX, ..PetQuery::default() };
    PetRepository::list(store, query).await.unwrap().value.pets
}
