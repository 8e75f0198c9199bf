//! Rows that break a rule.

use petstore_domain::{
    AddError, ApiKeyRepository, Archive, KeySelector, PetId, PetRepository, StoreError,
};
use petstore_postgres::PostgresStore;
use petstore_testing::postgres_or_skip;

use crate::support::{NOW, add, new_key, new_pet, open, query, request};

async fn broken(store: &PostgresStore, id: PetId) -> String {
    match PetRepository::find(store, id).await {
        Err(StoreError::Corrupt(corruption)) => corruption.to_string(),
        other => panic!("{other:?}"),
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_broken_animal_is_named_wherever_it_is_read() {
    let Some(database) = postgres_or_skip("a_broken_animal_is_named") else { return };
    let store = open(&database.url).await;
    let pet = add(&store, "Rex").await;
    database.sql("UPDATE pet SET name = ' '").unwrap();
    assert_eq!(
        broken(&store, pet.id).await,
        "the store holds animal 1, which breaks the rule: its name must not be white space alone"
    );
    let listed = PetRepository::list(&store, query(20, None)).await;
    assert!(matches!(listed, Err(StoreError::Corrupt(_))), "{listed:?}");
    let moved = store.snapshot().await.unwrap().pets(None, 10).await;
    assert!(matches!(moved, Err(StoreError::Corrupt(_))), "{moved:?}");

    database.sql("ALTER TABLE pet DROP CONSTRAINT pet_status_check").unwrap();
    database.sql("UPDATE pet SET name = 'Rex', status = 'gone'").unwrap();
    assert!(broken(&store, pet.id).await.contains("its status must be one of"));
}

#[tokio::test(flavor = "multi_thread")]
async fn a_record_without_its_animal_is_named() {
    let Some(database) = postgres_or_skip("a_record_without_its_animal") else { return };
    let store = open(&database.url).await;
    let request = request("k", &new_pet("Rex"));
    PetRepository::add(&store, new_pet("Rex"), Some(request.clone())).await.unwrap();
    database.sql("DELETE FROM pet").unwrap();
    let again = PetRepository::add(&store, new_pet("Rex"), Some(request)).await;
    assert!(matches!(again, Err(AddError::Store(StoreError::Corrupt(_)))), "{again:?}");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_broken_key_is_named_and_not_revoked() {
    let Some(database) = postgres_or_skip("a_broken_key_is_named") else { return };
    let store = open(&database.url).await;
    let key = ApiKeyRepository::add(&store, new_key(1, "web"), 10).await.unwrap();
    database.sql("UPDATE api_key SET digest = '\\x00'").unwrap();
    for result in [store.list_keys().await, store.revoke(KeySelector::Id(key.id), NOW).await] {
        assert!(matches!(result, Err(StoreError::Corrupt(_))), "{result:?}");
    }
    let revoked = database.sql("SELECT count(revoked_at) FROM api_key").unwrap();
    assert_eq!(revoked.trim(), "0");
}

/// Both repositories have a `list`.
trait ListKeys {
    async fn list_keys(&self) -> Result<Vec<petstore_domain::ApiKey>, StoreError>;
}

impl ListKeys for PostgresStore {
    async fn list_keys(&self) -> Result<Vec<petstore_domain::ApiKey>, StoreError> {
        ApiKeyRepository::list(self).await
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_missing_version_is_named() {
    let Some(database) = postgres_or_skip("a_missing_version_is_named") else { return };
    let store = open(&database.url).await;
    database.sql("DELETE FROM catalogue").unwrap();
    let listed = PetRepository::list(&store, query(20, None)).await;
    assert!(matches!(listed, Err(StoreError::Corrupt(_))), "{listed:?}");
}
