//! Several instances on one database.

use std::collections::HashMap;

use petstore_domain::{KeyStore as _, add_key};
use petstore_testing::{Database, needs};

use crate::support::{new_key, open};

#[needs(postgres)]
#[tokio::test(flavor = "multi_thread")]
async fn only_changed_keys_are_read_again() {
    let database = Database::create().unwrap();
    let store = open(&database.url).await;
    let insert = "INSERT INTO api_key (name, digest, prefix, rights, created_at) \
         SELECT 'web', sha256(random()::text::bytea), 'pst_1234', 'full', 1";
    let last = "UPDATE api_key SET created_at = 1 WHERE id = 1";
    database.sql(&format!("{insert} FROM generate_series(1, 3); {last}")).unwrap();
    let mut known = store.load_changes(None).await.unwrap();
    assert_eq!((known.rows.len(), known.sum), (3, known.sum_of_rows()));
    for (sql, changed) in [
        (insert, &[4][..]),
        ("UPDATE api_key SET expires_at = 2000000000000 WHERE id = 2", &[2]),
        ("UPDATE api_key SET revoked_at = 2000000000000 WHERE id = 2", &[2]),
        ("UPDATE api_key SET rights = 'read-only' WHERE id = 2", &[2]),
        ("UPDATE api_key SET created_at = 2 WHERE id = 2", &[2]),
        ("UPDATE api_key SET prefix = 'pst_5678' WHERE id = 2", &[2]),
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
        let is_unchanged = store.load(Some(known.mark.revision)).await.unwrap().is_none();
        assert_eq!([is_known, is_unchanged], [sql.contains("last_used_at"); 2], "{sql}");
        let all = store.load_changes(None).await.unwrap();
        assert_eq!((all.mark.revision, all.sum), (now.mark.revision, all.sum_of_rows()), "{sql}");
        assert!(is_known || now.sum == all.sum, "{sql}");
        known = now;
    }
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
    // A service replaces the rows that it remembers by the changed rows.
    let rows = known.rows.iter().chain(&now.rows);
    let rows = rows.map(|(key, stamp)| (key.as_ref().unwrap().id, *stamp));
    let stamps: HashMap<_, u64> = rows.collect();
    assert_ne!(stamps.values().sum::<u64>(), now.sum);
}
