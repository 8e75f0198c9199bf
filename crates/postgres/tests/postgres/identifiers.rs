//! Identifiers that the sequence did not assign, and the order of new identifiers.

use std::sync::Arc;

use petstore_domain::{Added, Archive as _, KeyId, PetRepository, add_key};
use petstore_postgres::PostgresStore;
use petstore_storage::Severity;
use petstore_testing::{Database, needs};
use tokio::task::JoinSet;

use crate::support::{add, all, new_key, new_pet, open, query, recovers, request};

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
             SELECT setval('pet_id', {round}001, false)"
        );
        database.sql(&rows).unwrap();
        let named = warnings(&store).await.concat();
        assert!(named.contains("the sequence pet_id is behind the rows;"), "{named}");
        let before = all(&store).await.len();
        let added = match round {
            1 => {
                let mut adding = JoinSet::new();
                for index in 0..20 {
                    let (store, pet) = (store.clone(), new_pet("Bello"));
                    let key = (index % 2 == 0).then(|| request(&index.to_string(), &pet));
                    adding
                        .spawn(async move { PetRepository::add(&*store, pet, key).await.unwrap() });
                }
                adding.join_all().await.len()
            }
            2 => {
                let pet = new_pet("Bello");
                let added = PetRepository::add(&*store, pet.clone(), Some(request("k", &pet)));
                assert!(matches!(added.await.unwrap(), Added::Created(_)));
                1
            }
            _ => {
                let new_pets = vec![new_pet("Bello"); 3];
                store.add_new(new_pets, None).await.unwrap();
                3
            }
        };
        let pets = all(&store).await;
        assert_eq!(pets.len(), before + added);
        let last = round * 1000 + 50 + i64::try_from(added).unwrap();
        assert_eq!(pets.last().unwrap().id.0, last);
    }
}

/// A reader that always continues after the last identifier that it has read finds every animal.
#[needs(postgres)]
#[tokio::test(flavor = "multi_thread")]
async fn animals_that_two_instances_add_at_once_can_be_read_in_ascending_order() {
    let database = Database::create().unwrap();
    let mut adding = JoinSet::new();
    for instance in 0..2 {
        let store = Arc::new(open(&database.url).await);
        for task in 0..8 {
            let store = store.clone();
            adding.spawn(async move {
                for number in 0..40 {
                    let pet = new_pet("Rex");
                    let key = format!("{instance}-{task}-{number}");
                    let key = (number % 2 == 0).then(|| request(&key, &pet));
                    PetRepository::add(&*store, pet, key).await.unwrap();
                }
            });
        }
    }
    let adding = tokio::spawn(adding.join_all());
    let reader = open(&database.url).await;
    let mut followed = Vec::new();
    loop {
        let is_over = adding.is_finished();
        let page = PetRepository::list(&reader, query(100, followed.last().copied()));
        let page = page.await.unwrap().value.pets;
        if page.is_empty() && is_over {
            break;
        }
        followed.extend(page.iter().map(|pet| pet.id));
    }
    adding.await.unwrap();
    assert_eq!(followed, all(&reader).await.iter().map(|pet| pet.id).collect::<Vec<_>>());
    assert_eq!(followed.len(), 2 * 8 * 40);
}

/// The other addition runs in a plain SQL session. The session holds the lock of the state row for one second before it
/// takes an identifier from the sequence.
#[needs(postgres)]
#[tokio::test(flavor = "multi_thread")]
async fn the_later_of_two_concurrent_additions_has_the_higher_identifier() {
    let database = Database::create().unwrap();
    let database = Arc::new(database);
    let store = open(&database.url).await;
    add(&store, "Rex").await;
    for with_key in [false, true] {
        let slow = "BEGIN; SELECT FROM petstore_state FOR UPDATE; SELECT pg_sleep(1); \
             INSERT INTO pet (name, category_id) VALUES ('slow', 1); COMMIT";
        let other = database.clone();
        let other = tokio::task::spawn_blocking(move || other.sql(slow).unwrap());
        let locked = "SELECT count(*) FROM pg_stat_activity WHERE query LIKE '%pg_sleep(1)%' \
             AND wait_event = 'PgSleep'";
        recovers(async || {
            (database.sql(locked)?.trim() != "0").then_some(()).ok_or("no lock".to_owned())
        })
        .await;
        let pet = new_pet("Bello");
        let key = with_key.then(|| request("once", &pet));
        PetRepository::add(&store, pet, key).await.unwrap();
        other.await.unwrap();
    }
    let pets = all(&store).await;
    let names = pets.iter().map(|pet| pet.name.as_str()).collect::<Vec<_>>();
    assert_eq!(names, ["Rex", "slow", "Bello", "slow", "Bello"]);
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
    let role = format!("adder_{}", std::process::id());
    let grants = format!(
        "CREATE ROLE {role} LOGIN PASSWORD 'secret'; \
         GRANT SELECT, INSERT, UPDATE, DELETE ON ALL TABLES IN SCHEMA public TO {role}; \
         GRANT USAGE ON ALL SEQUENCES IN SCHEMA public TO {role}"
    );
    database.sql(&grants).unwrap();
    let address = database.url.split_once('@').unwrap().1;
    let store = open(&format!("postgres://{role}:secret@{address}")).await;
    add(&store, "Rex").await;
    store.add_new(vec![new_pet("Rex")], None).await.unwrap();
    // The inspection does not warn that the role cannot read the sequence: a service does not need this right.
    let warned = warnings(&store).await;
    database.sql("SELECT setval('pet_id', 1)").unwrap();
    let refused = PetRepository::add(&store, new_pet("Rex"), None).await.unwrap_err().to_string();
    drop(store);
    database.sql(&format!("DROP OWNED BY {role}; DROP ROLE {role}")).unwrap();
    assert_eq!(warned, [""; 0]);
    assert!(refused.contains("permission denied for sequence pet_id"), "{refused}");
}
