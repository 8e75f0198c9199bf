//! Rows that break a rule, because somebody changed them by SQL.

use petstore_domain::{
    AddError, Archive, Corruption, Handover as _, KeyId, KeySelector, KeyStore as _, PetId,
    PetRepository, StoreError, add_key, load_keys, revoke_keys, roll_key,
};
use petstore_postgres::PostgresStore;
use petstore_testing::{Database, needs};

use crate::support::{NOW, new_key, new_pet, open, query, request};

async fn broken(store: &PostgresStore, id: PetId) -> String {
    match PetRepository::find(store, id).await {
        Err(StoreError::Corrupt(corruption)) => corruption.to_string(),
        other => panic!("{other:?}"),
    }
}

#[needs(postgres)]
#[tokio::test(flavor = "multi_thread")]
async fn a_broken_animal_is_named_wherever_it_is_read() {
    let database = Database::create().unwrap();
    let store = open(&database.url).await;
    let once = Some(request("k", &new_pet("Rex")));
    PetRepository::add(&store, new_pet("Rex"), once).await.unwrap();
    database.sql("UPDATE idempotency SET fingerprint = '\\x00'").unwrap();
    let again = PetRepository::add(&store, new_pet("Rex"), once).await.unwrap_err().to_string();
    assert!(again.contains("record of animal 1, which") && again.contains("1 bytes instead of 32"));
    database.sql("ALTER TABLE pet DROP CONSTRAINT pet_name; UPDATE pet SET name = ' '").unwrap();
    assert_eq!(
        broken(&store, PetId(1)).await,
        "the store holds animal 1, which breaks the rule: its name must not be white space alone"
    );
    let listed = PetRepository::list(&store, query(20, None)).await;
    assert!(matches!(listed, Err(StoreError::Corrupt(_))), "{listed:?}");
    let moved = store.snapshot().await.unwrap().pets(None, 10).await;
    assert!(matches!(moved, Err(StoreError::Corrupt(_))), "{moved:?}");

    database.sql("ALTER TABLE pet DROP CONSTRAINT pet_status_check").unwrap();
    database.sql("UPDATE pet SET name = 'Rex', status = 'gone'").unwrap();
    assert!(broken(&store, PetId(1)).await.contains("its status must be one of"));
    // A page does not depend on the animal behind it.
    database.sql("INSERT INTO pet SELECT 0, 'Max', category_id FROM pet").unwrap();
    let page = PetRepository::list(&store, query(1, None)).await.unwrap().value;
    assert!(page.more && page.pets[0].id == PetId(0), "{page:?}");
    database.sql("ALTER TABLE pet ALTER name DROP NOT NULL; UPDATE pet SET name = NULL").unwrap();
    assert!(broken(&store, PetId(1)).await.contains("the store holds animal 1, which"));

    database.sql("ALTER TABLE pet ALTER id TYPE int").unwrap();
    let unprepared = open(&format!("{}?pgbouncer=true", database.url)).await;
    let listed = PetRepository::list(&unprepared, query(20, None)).await;
    assert!(matches!(listed, Err(StoreError::Corrupt(_))), "{listed:?}");
}

#[needs(postgres)]
#[tokio::test(flavor = "multi_thread")]
async fn a_broken_key_is_named_and_the_others_work() {
    let database = Database::create().unwrap();
    let store = open(&database.url).await;
    let mut keys = Vec::new();
    for (seed, name) in [(1, "a"), (2, "b"), (3, "c")] {
        keys.push(add_key(&store, new_key(seed, name)).await.unwrap());
    }
    let unreadable = "ALTER TABLE api_key ALTER prefix DROP NOT NULL; \
         UPDATE api_key SET prefix = NULL WHERE name = 'b'";
    database.sql(unreadable).unwrap();
    let rule = "error deserializing column 3: a Postgres value was `NULL`";
    let named = Corruption::new(format!("API key {}", keys[1].id.0), rule);
    let found = load_keys(&store).await.unwrap();
    assert_eq!(found.keys, [keys[0].clone(), keys[2].clone()]);
    let changes = store.load_changes(None).await.unwrap();
    assert_eq!(changes.rows.iter().filter(|(row, _)| row.is_err()).count(), 1);
    let [corrupt] = found.corrupt.try_into().unwrap();
    assert_eq!((corrupt.id, corrupt.name.as_deref()), (Some(keys[1].id), Some("b")));
    assert_eq!((corrupt.corruption, found.next_id), (named.clone(), KeyId(4)));
    let copied = store.snapshot().await.unwrap().keys().await;
    for refusal in [copied, revoke_keys(&store, KeySelector::Id(keys[1].id), NOW).await] {
        match refusal {
            Err(StoreError::Corrupt(corruption)) => assert_eq!(corruption, named),
            other => panic!("{other:?}"),
        }
    }
    let revoked = database.sql("SELECT count(revoked_at) FROM api_key").unwrap();
    assert_eq!(revoked.trim(), "0");

    add_key(&store, new_key(4, "d")).await.unwrap();
    roll_key(&store, new_key(5, "a"), NOW).await.unwrap();
    let revoked = revoke_keys(&store, KeySelector::Name(keys[2].name.clone()), NOW).await;
    assert_eq!(revoked.unwrap().len(), 1);
}

#[needs(postgres)]
#[tokio::test(flavor = "multi_thread")]
async fn a_missing_version_is_corruption_and_nothing_is_added() {
    let database = Database::create().unwrap();
    let store = open(&database.url).await;
    database.sql("UPDATE petstore_state SET identity = '\\x00'").unwrap();
    let broken = store.state().await.unwrap_err().to_string();
    assert!(broken.contains("1 bytes instead of 16"), "{broken}");
    let short = "UPDATE petstore_state SET identity = version, version = '\\x00'";
    for sql in [short, "DELETE FROM petstore_state"] {
        database.sql(sql).unwrap();
        let listed = PetRepository::list(&store, query(20, None)).await;
        assert!(matches!(listed, Err(StoreError::Corrupt(_))), "{sql}: {listed:?}");
    }
    let added = PetRepository::add(&store, new_pet("Rex"), None).await;
    assert!(matches!(added, Err(AddError::Store(StoreError::Corrupt(_)))), "{added:?}");
    assert_eq!(database.sql("SELECT count(*) FROM pet").unwrap().trim(), "0");
}
