//! Several instances on one database.

use std::{collections::HashMap, sync::Arc};

use petstore_domain::{Added, KeyChanges, KeyStore as _, PetRepository, add_key, load_keys};
use petstore_testing::{Database, needs};
use tokio::task::JoinSet;

use crate::support::{NOW, add, all, new_key, new_pet, open, query, recovers, request};

#[needs(postgres)]
#[tokio::test(flavor = "multi_thread")]
async fn additions_with_the_same_idempotency_keys_in_opposite_orders_succeed() {
    let database = Database::create().unwrap();
    let stores = [Arc::new(open(&database.url).await), Arc::new(open(&database.url).await)];
    let mut tasks = JoinSet::new();
    for number in 0..400_usize {
        for (index, store) in stores.iter().enumerate() {
            let store = store.clone();
            let number = if index == 0 { number } else { 399 - number };
            tasks.spawn(async move {
                let pet = new_pet(&format!("Rex {number}"));
                let request = request(&format!("key-{number}"), &pet);
                PetRepository::add(&*store, pet, Some(request)).await.unwrap()
            });
        }
    }
    let answers = tasks.join_all().await;
    let new = answers.iter().filter(|answer| matches!(answer, Added::Created(_))).count();
    assert_eq!((new, all(&stores[0]).await.len()), (400, 400));
}

#[needs(postgres)]
#[tokio::test(flavor = "multi_thread")]
async fn the_version_after_a_read_is_the_version_of_that_read() {
    let database = Database::create().unwrap();
    let (ours, other) = (open(&database.url).await, open(&database.url).await);
    for _ in 0..20 {
        recovers(|| async { ours.version().ok_or("the version is not known") }).await;
        add(&other, "Rex").await;
        let read = PetRepository::list(&ours, query(1, None)).await.unwrap();
        // On a slow machine the version may be unknown for a moment.
        assert!(ours.version().is_none_or(|known| Some(known) == read.version));
    }
}

#[needs(postgres)]
#[tokio::test(flavor = "multi_thread")]
async fn only_changed_keys_are_read_again() {
    let database = Database::create().unwrap();
    let store = open(&database.url).await;
    let insert = "INSERT INTO api_key (name, digest, prefix, rights, created_at) \
         SELECT 'web', sha256(random()::text::bytea), 'pst_1234', 'full', 1";
    database.sql(&format!("{insert} FROM generate_series(1, 3)")).unwrap();
    let mut known = store.load_changes(None).await.unwrap();
    assert_eq!((known.rows.len(), known.sum), (3, known.sum_of_rows()));
    for (sql, changed) in [
        (insert, &[4][..]),
        ("UPDATE api_key SET expires_at = 2000000000000 WHERE id = 2", &[2]),
        ("UPDATE api_key SET digest = sha256(digest), name = 'app' WHERE id > 2", &[3, 4]),
        ("DELETE FROM api_key WHERE id = 3", &[]),
        ("UPDATE api_key SET last_used_at = 9", &[]),
        ("TRUNCATE api_key", &[]),
    ] {
        database.sql(sql).unwrap();
        let now = store.load_changes(Some(known.mark)).await.unwrap();
        let rows = now.rows.iter().map(|(key, _)| key.as_ref().unwrap().id.0);
        assert_eq!(rows.collect::<Vec<_>>(), changed, "{sql}");
        let is_known = now.mark == known.mark;
        assert_eq!(is_known, sql.contains("last_used_at"), "{sql}");
        let all = store.load_changes(None).await.unwrap();
        assert_eq!((all.mark.revision, all.sum), (now.mark.revision, all.sum_of_rows()), "{sql}");
        assert!(is_known || now.sum == all.sum, "{sql}");
        known = now;
    }
}

/// Replaces rows of `known` by those of `changes`, as a service does with the keys that it remembers. Returns the sum
/// of the stamps.
fn sum_after(known: &KeyChanges, changes: &KeyChanges) -> u64 {
    let rows = known.rows.iter().chain(&changes.rows);
    let stamps: HashMap<_, _> =
        rows.map(|(key, stamp)| (key.as_ref().unwrap().id, *stamp)).collect();
    stamps.values().sum()
}

/// The restored table lacks a change that the process has read, and has another change.
#[needs(postgres)]
#[tokio::test(flavor = "multi_thread")]
async fn a_process_notices_restored_keys() {
    let database = Database::create().unwrap();
    let store = open(&database.url).await;
    for seed in 1..=3 {
        add_key(&store, new_key(seed, &format!("key{seed}"))).await.unwrap();
    }
    let changed = "UPDATE api_key SET revoked_at = 7 WHERE id =";
    database.sql(&format!("CREATE TABLE dump AS SELECT * FROM api_key; {changed} 2")).unwrap();
    let known = store.load_changes(None).await.unwrap();
    let restore = "ALTER TABLE api_key DISABLE TRIGGER USER; DELETE FROM api_key; \
         INSERT INTO api_key SELECT * FROM dump; ALTER TABLE api_key ENABLE TRIGGER USER";
    database.sql(&format!("{restore}; {changed} 3")).unwrap();
    let now = store.load_changes(Some(known.mark)).await.unwrap();
    assert_ne!(sum_after(&known, &now), now.sum);
}

#[needs(postgres)]
#[tokio::test(flavor = "multi_thread")]
async fn a_change_of_a_key_by_sql_changes_the_revision_of_the_keys() {
    let database = Database::create().unwrap();
    let store = open(&database.url).await;
    let mut known = load_keys(&store).await.unwrap();
    for sql in [
        "INSERT INTO api_key (name, digest, prefix, rights, created_at) VALUES ('web', 'x', 'pst_1234', 'full', 1)",
        "UPDATE api_key SET expires_at = 7, revoked_at = 7, last_used_at = 7",
        "DELETE FROM api_key",
        "TRUNCATE api_key",
    ] {
        database.sql(sql).unwrap();
        let now = store.load(Some(known.revision)).await.unwrap();
        known = now.unwrap_or_else(|| panic!("{sql}"));
    }
    let id = add_key(&store, new_key(1, "web")).await.unwrap().id;
    let known = load_keys(&store).await.unwrap();
    database.sql("UPDATE api_key SET last_used_at = 9").unwrap();
    store.note_uses(vec![(id, NOW)]).await.unwrap();
    assert_eq!(store.load(Some(known.revision)).await.unwrap(), None);
}
