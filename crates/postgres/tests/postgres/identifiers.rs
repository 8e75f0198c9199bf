//! Identifiers that the sequence did not assign, and the order of new identifiers.

use std::{sync::Arc, time::Duration};

use petstore_domain::{
    Archive as _, ArchiveError, KeyId, PetId, PetRepository, StoreError, add_key,
};
use petstore_postgres::PostgresStore;
use petstore_storage::Severity;
use petstore_testing::{Database, needs};
use tokio::{task::JoinSet, time};

use crate::support::{Role, add, all, new_key, new_pet, open, request, session};

async fn warnings(store: &PostgresStore) -> Vec<String> {
    let findings = store.inspect().await.unwrap().into_iter();
    let warnings = findings.filter(|finding| finding.severity == Severity::Warning);
    let identifiers = warnings.filter(|finding| finding.subject == "identifiers");
    identifiers.map(|finding| finding.detail).collect()
}

#[needs(postgres)]
#[tokio::test(flavor = "multi_thread")]
async fn a_warning_names_a_sequence_behind_the_rows_until_an_addition_raises_it() {
    let database = Database::create().unwrap();
    let store = Arc::new(open(&database.url).await);
    for round in 1..=3 {
        assert_eq!(warnings(&store).await, [""; 0]);
        let rows = format!(
            "INSERT INTO pet SELECT i + {round}000, 'Rex', 1, NULL FROM generate_series(1, 50) i; \
             SELECT setval('pet_id', {round}000 + least({round} * 20, 50), false)"
        );
        database.sql(&rows).unwrap();
        let named = warnings(&store).await.concat();
        assert!(named.contains("the sequence pet_id is behind the rows;"), "{named}");
        let highest = store.snapshot().await.unwrap().highest_ids().await.unwrap().pet;
        assert_eq!(highest, Some(PetId(round * 1000 + 50)));
        let before = all(&store).await.len();
        let added = match round {
            1 => {
                let adding = (0..20).map(|index| {
                    let (store, pet) = (store.clone(), new_pet("Bello"));
                    let key = (index % 2 == 0).then(|| request(&index.to_string(), &pet));
                    async move { PetRepository::add(&*store, pet, key).await.unwrap() }
                });
                adding.collect::<JoinSet<_>>().join_all().await.len()
            }
            2 => {
                let request = request("k", &new_pet("Bello"));
                PetRepository::add(&*store, new_pet("Bello"), Some(request)).await.unwrap();
                1
            }
            _ => {
                store.add_new(vec![new_pet("Bello"); 3], None).await.unwrap();
                3
            }
        };
        let pets = all(&store).await;
        assert_eq!(pets.len(), before + added);
        let last = round * 1000 + 50 + i64::try_from(added).unwrap();
        assert_eq!(pets.last().unwrap().id.0, last);
    }
    // The sequence is raised only after a writer that holds the lock has committed.
    database.sql("SELECT setval('pet_id', 1)").unwrap();
    let other = session(&database, "BEGIN; INSERT INTO pet VALUES (9000, 'Rex', 1, NULL)").await;
    let (imported, ()) = tokio::join!(store.add_new(vec![new_pet("Bello")], None), async {
        time::sleep(Duration::from_millis(300)).await;
        other.batch_execute("COMMIT").await.unwrap();
    });
    imported.unwrap();
    assert_eq!(all(&store).await.last().unwrap().id, PetId(9001));
    // An import that waits for the lock while the store is sealed draws no identifier.
    let seal = "BEGIN; UPDATE petstore_state SET state = 'sealed', other = identity, label = 'x', \
         revision = revision + 1, changes = changes + 1";
    let other = session(&database, seal).await;
    let (refused, ()) = tokio::join!(store.add_new(vec![new_pet("Bello")], None), async {
        time::sleep(Duration::from_millis(300)).await;
        other.batch_execute("COMMIT").await.unwrap();
    });
    assert!(matches!(refused, Err(ArchiveError::Store(StoreError::Sealed(_)))), "{refused:?}");
    assert_eq!(database.sql("SELECT last_value FROM pet_id").unwrap().trim(), "9001");
}

/// The other addition runs in a plain SQL session, which holds the lock of the state's row for one second before it
/// takes an identifier from the sequence.
#[needs(postgres)]
#[tokio::test(flavor = "multi_thread")]
async fn the_later_of_two_concurrent_additions_has_the_higher_identifier() {
    let database = Database::create().unwrap();
    let store = open(&database.url).await;
    for with_key in [false, true] {
        let other = session(&database, "BEGIN; SELECT FROM petstore_state FOR UPDATE").await;
        let pet = new_pet("Bello");
        let key = with_key.then(|| request("once", &pet));
        let (added, ()) = tokio::join!(PetRepository::add(&store, pet, key), async {
            time::sleep(Duration::from_secs(1)).await;
            let insert = "INSERT INTO pet (name, category_id) VALUES ('slow', 1); COMMIT";
            other.batch_execute(insert).await.unwrap();
        });
        added.unwrap();
    }
    let pets = all(&store).await;
    let names: Vec<&str> = pets.iter().map(|pet| pet.name.as_str()).collect();
    assert_eq!(names, ["slow", "Bello", "slow", "Bello"]);
}

#[needs(postgres)]
#[tokio::test]
async fn a_new_key_has_an_identifier_above_all_earlier_ones() {
    let database = Database::create().unwrap();
    let store = open(&database.url).await;
    let add = async |seed: u8| {
        let key = new_key(seed, &format!("key-{seed}"));
        add_key(&store, key).await.unwrap().id
    };
    assert_eq!(add(1).await, KeyId(1));
    database.sql("UPDATE api_key SET id = 7").unwrap();
    assert_eq!([add(2).await, add(3).await], [KeyId(8), KeyId(9)]);
    let insert = "INSERT INTO api_key (id, name, digest, prefix, rights, created_at) VALUES \
         ((SELECT max(id) FROM api_key) + 1, 'old', 'x', 'pst_', 'full', 1)";
    database.sql(insert).unwrap();
    assert_eq!(add(4).await, KeyId(11));
    // Identifiers of deleted keys are not assigned again, however the keys were deleted.
    database.sql("DELETE FROM api_key").unwrap();
    assert_eq!(add(5).await, KeyId(12));
}

/// An import requires the rights to read and to set the sequence only if the sequence is behind the rows.
#[needs(postgres)]
#[tokio::test]
async fn a_role_without_the_right_to_raise_the_sequence_gets_an_error_that_names_the_sequence() {
    let database = Database::create().unwrap();
    drop(open(&database.url).await);
    let role = Role::new(&database);
    let store = open(&role.url()).await;
    add(&store, "Rex").await;
    store.add_new(vec![new_pet("Rex")], None).await.unwrap();
    // The inspection does not warn that the role cannot read the sequence: a service does not need this right.
    assert_eq!(warnings(&store).await, [""; 0]);
    database.sql("SELECT setval('pet_id', 1)").unwrap();
    let refused = PetRepository::add(&store, new_pet("Rex"), None).await.unwrap_err().to_string();
    assert!(refused.contains("permission denied for sequence pet_id"), "{refused}");
}
