//! Reading the changed API keys alone.

use std::{collections::HashMap, fs};

use petstore_domain::{
    ApiKey, KeyChanges, KeyId, KeyStore as _, SaveOutcome, Timestamp, add_key, load_keys,
};

use crate::support::{Place, new_key};

fn ids(changes: &KeyChanges) -> Vec<i64> {
    changes.rows.iter().map(|(key, _)| key.as_ref().unwrap().id.0).collect()
}

#[tokio::test]
async fn only_keys_that_a_program_has_changed_are_read_again_under_a_new_revision() {
    let place = Place::new();
    let store = place.open();
    let raw = place.raw();
    let insert = "INSERT INTO api_key (name, digest, prefix, created_at, rights) \
         VALUES ('web', randomblob(32), 'pst_1234', 1, 'full')";
    for _ in 0..3 {
        raw.execute(insert, []).unwrap();
    }
    let mut known = store.load_changes(None).await.unwrap();
    assert_eq!((ids(&known), known.sum), (vec![1, 2, 3], known.sum_of_rows()));
    for (sql, changed) in [
        (insert, &[4][..]),
        ("UPDATE api_key SET expires_at = 2000000000000 WHERE id = 2", &[2]),
        ("UPDATE api_key SET revoked_at = 7 WHERE id = 1", &[1]),
        ("UPDATE api_key SET digest = randomblob(32), name = 'app' WHERE id > 2", &[3, 4]),
        ("DELETE FROM api_key WHERE id = 3", &[]),
        ("UPDATE api_key SET last_used_at = 9", &[]),
    ] {
        raw.execute(sql, []).unwrap();
        let now = store.load_changes(Some(known.mark)).await.unwrap();
        assert_eq!(ids(&now), changed, "{sql}");
        let is_known = now.mark.revision == known.mark.revision;
        assert_eq!(is_known, sql.contains("last_used_at"), "{sql}");
        let all = store.load_changes(None).await.unwrap();
        assert_eq!((all.mark, all.sum), (now.mark, all.sum_of_rows()), "{sql}");
        assert!(is_known || now.sum == all.sum, "{sql}");
        known = now;
    }
    // A save by petstore, whose connections run no triggers.
    let stored = load_keys(&store).await.unwrap();
    let changed = ApiKey { expires_at: Some(Timestamp(8)), ..stored.keys[1].clone() };
    let saved = store.save(stored.revision, vec![changed.clone()], Vec::new()).await.unwrap();
    assert_eq!(saved, SaveOutcome::Saved);
    let now = store.load_changes(Some(known.mark)).await.unwrap();
    let rows: Vec<_> = now.rows.iter().map(|(key, _)| key.as_ref().unwrap()).collect();
    assert_eq!(rows, [&changed]);
}

/// The restored store lacks a change that the process has read, and has another change.
#[tokio::test]
async fn a_process_notices_restored_keys() {
    let place = Place::new();
    let backup = place.directory().join("backup");
    let store = place.open();
    for seed in 1..=3 {
        add_key(&store, new_key(seed, &format!("key{seed}"))).await.unwrap();
    }
    drop(store);
    fs::copy(place.path(), &backup).unwrap();
    let revoke = async |id: i64, known| {
        let store = place.open();
        place.raw().execute("UPDATE api_key SET revoked_at = 7 WHERE id = ?1", [id]).unwrap();
        store.load_changes(known).await.unwrap()
    };
    let known = revoke(2, None).await;
    fs::copy(&backup, place.path()).unwrap();
    let now = revoke(3, Some(known.mark)).await;
    // A service replaces the rows that it remembers.
    let rows = known.rows.iter().chain(&now.rows);
    let stamps: HashMap<KeyId, u64> =
        rows.map(|(key, stamp)| (key.as_ref().unwrap().id, *stamp)).collect();
    assert_ne!(stamps.values().sum::<u64>(), now.sum);
}
