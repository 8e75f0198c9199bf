//! Writes that the conformance kit does not cover, such as large transactions; reads of changed keys; and the findings
//! of a check.

use std::time::Duration;

use petstore_domain::{
    AddError, ApiKey, ApiKeySecret, Archive as _, ArchiveError, CategoryId, IdempotencyId,
    IdempotencyRecord, IdempotencyRequest, KeyChanges, KeyId, KeyMark, KeyName, KeyStore as _,
    NewApiKey, NewPet, PetId, PetName, PetRepository as _, PetStatus, Rows, SaveOutcome,
    StoreError, Timestamp, WriterRole, load_keys,
};
use petstore_storage::Severity;
use petstore_testing::{Etcd, needs};

use crate::support::{add, new_key, open, page, rex, url};

fn request(key: u16, at: i64) -> IdempotencyRequest {
    let id = IdempotencyId(u128::from(key).to_be_bytes());
    IdempotencyRequest::new(id, &rex(), Timestamp(at))
}

fn record(key: u16, pet: i64, at: i64) -> IdempotencyRecord {
    request(key, at).into_record(PetId(pet))
}

#[needs(etcd)]
#[tokio::test]
async fn the_largest_batch_of_records_replaces_as_many_records() {
    let etcd = Etcd::start(1).unwrap();
    let store = open(&url(&etcd)).await;
    let most = u16::try_from(store.max_batch()).unwrap();
    for (pet, at) in [(1, 5), (1000, 6)] {
        let records = (0..most).map(|key| record(key, pet + i64::from(key), at)).collect();
        let rows = Rows { records, ..Rows::default() };
        assert_eq!(store.write_rows(WriterRole::Service, rows).await.unwrap(), 0);
    }
    let mut snapshot = store.snapshot().await.unwrap();
    let records = snapshot.records(None, 1000).await.unwrap();
    let expected: Vec<_> = (0..most).map(|key| record(key, 1000 + i64::from(key), 6)).collect();
    assert_eq!(records, expected);
    assert_eq!(snapshot.counts().await.unwrap().records, u64::from(most));
    for _ in 0..2 {
        store.purge_expired(Timestamp(6), 1000).await.unwrap();
    }
    let left = etcd.entries("zoo/").unwrap().into_iter().map(|(key, _)| key);
    assert_eq!(left.collect::<Vec<_>>(), ["zoo/head", "zoo/store"]);
}

#[needs(etcd)]
#[tokio::test]
async fn the_largest_animals_are_written_in_one_transaction() {
    let etcd = Etcd::start(1).unwrap();
    let store = open(&url(&etcd)).await;
    let name = PetName::parse("🐕".repeat(255)).unwrap();
    let category_id = CategoryId(i64::MIN);
    let pet = NewPet { name, category_id, status: Some(PetStatus::Available) };
    let before = etcd.revision().unwrap();
    let pets = vec![pet.clone(); store.max_batch()];
    assert_eq!(store.add_new(pets, Some(request(1, 5))).await.unwrap(), 128);
    let pets: Vec<_> = (1000..1128).map(|id| pet.clone().with_id(PetId(id))).collect();
    let rows = Rows { pets, ..Rows::default() };
    assert_eq!(store.write_rows(WriterRole::Service, rows.clone()).await.unwrap(), 128);
    assert_eq!(etcd.revision().unwrap(), before + 2);
    assert_eq!(store.write_rows(WriterRole::Service, rows).await.unwrap(), 0);
    assert_eq!(store.snapshot().await.unwrap().counts().await.unwrap().pets, 256);
    // A corrupt row is not replaced.
    etcd.put("zoo/pets/8000000000000001", "{}").unwrap();
    let rows = Rows { pets: vec![pet.with_id(PetId(1))], ..Rows::default() };
    let corrupt = store.write_rows(WriterRole::Service, rows).await.unwrap_err();
    assert!(matches!(corrupt, ArchiveError::Store(StoreError::Corrupt(_))), "{corrupt}");
}

/// A purge reads 40 expiry entries at most. Release 1.2.0 wrote up to 62 records in one transaction, with one entry.
#[needs(etcd)]
#[tokio::test]
async fn a_purge_says_whether_entries_are_left_and_takes_the_largest_entry_of_1_2_0_at_once() {
    let etcd = Etcd::start(1).unwrap();
    let store = open(&url(&etcd)).await;
    for (count, is_one_entry, purges) in
        [(41, false, &[(40, true), (1, false)][..]), (62, true, &[(62, false)])]
    {
        for key in 0..count {
            let rows = Rows { records: vec![record(key, i64::from(key), 5)], ..Rows::default() };
            store.write_rows(WriterRole::Service, rows).await.unwrap();
        }
        let expiry = etcd.entries("zoo/expiry/").unwrap().into_iter();
        let mut all: Vec<(String, i64)> = Vec::new();
        for (key, value) in expiry.filter(|_| is_one_entry) {
            all.extend(serde_json::from_str::<Vec<_>>(&value).unwrap());
            etcd.delete(&key).unwrap();
        }
        if is_one_entry {
            let entry = "zoo/expiry/8000000000000005/0000000000000001";
            etcd.put(entry, &serde_json::to_string(&all).unwrap()).unwrap();
        }
        for expected in purges {
            let purged = store.purge_expired(Timestamp(5), 1000).await.unwrap();
            assert_eq!((purged.deleted, purged.more), *expected);
        }
    }
    // An entry has an expired record before another record.
    let records = vec![record(1, 1, 5), record(2, 2, 9)];
    store.write_rows(WriterRole::Service, Rows { records, ..Rows::default() }).await.unwrap();
    assert!(store.purge_expired(Timestamp(5), 0).await.unwrap().more);
}

#[needs(etcd)]
#[tokio::test]
async fn only_changed_keys_are_read_again_and_a_compacted_snapshot_not_at_all() {
    let etcd = Etcd::start(1).unwrap();
    let store = open(&url(&etcd)).await;
    let key = |seed: u8| new_key(seed).with_id(KeyId(seed.into()));
    let save = async |changed: Vec<ApiKey>, removed: Vec<KeyId>| {
        let revision = load_keys(&store).await.unwrap().revision;
        let saved = store.save(revision, changed, removed).await;
        assert_eq!(saved.unwrap(), SaveOutcome::Saved);
    };
    let changed = async |known| {
        let KeyChanges { mark, rows, sum } = store.load_changes(known).await.unwrap();
        let ids: Vec<_> = rows.into_iter().map(|(row, _)| row.unwrap().id.0).collect();
        (mark, ids, sum)
    };
    save(vec![key(1), key(2), key(3)], vec![]).await;
    let (first, ids, sum) = changed(None).await;
    assert_eq!((ids, sum), (vec![1, 2, 3], 3));
    let revoked = ApiKey { revoked_at: Some(Timestamp(6)), ..key(2) };
    save(vec![revoked, key(4)], vec![KeyId(3)]).await;
    let (second, ids, sum) = changed(Some(first)).await;
    assert_eq!((ids, sum), (vec![2, 4], 3));
    // A new animal raises the position, and the keys keep their revision.
    add(&store).await;
    let (third, ids, _) = changed(Some(second)).await;
    assert_eq!((ids, third.revision), (vec![], second.revision));
    assert!(third.position > second.position);
    // The keys had another revision at this position, or the position is in the future.
    save(vec![key(5)], vec![]).await;
    let future = KeyMark { position: third.position + 1000, ..third };
    for unknown in [KeyMark { revision: first.revision, ..third }, future] {
        assert_eq!(changed(Some(unknown)).await.1, [1, 2, 4, 5]);
    }
    assert_eq!(changed(Some(third)).await.1, [5]);
    let mut snapshot = store.snapshot().await.unwrap();
    add(&store).await;
    // The position and the snapshot are compacted away.
    etcd.compact().unwrap();
    assert_eq!(changed(Some(second)).await.1, [1, 2, 4, 5]);
    let refusal = snapshot.pets(None, 9).await.unwrap_err();
    let expected = "the store cannot answer: etcd has compacted the snapshot away: start again";
    assert!(refusal.to_string().starts_with(expected), "{refusal}");
}

/// There are more keys than one transaction may read, and than one page holds.
#[needs(etcd)]
#[tokio::test]
async fn a_digest_is_compared_with_every_key() {
    let etcd = Etcd::start(1).unwrap();
    let store = open(&url(&etcd)).await;
    let key = |seed: u16, id: i64| {
        let mut bytes = [0; 32];
        bytes[..2].copy_from_slice(&seed.to_be_bytes());
        let secret = ApiKeySecret::from_entropy(&bytes);
        let name = KeyName::parse(&format!("key-{seed}")).unwrap();
        NewApiKey::new(name, &secret, Timestamp(1), None).with_id(KeyId(id))
    };
    for first in (1..=1100).step_by(100) {
        let revision = load_keys(&store).await.unwrap().revision;
        let some = (first..first + 100).map(|seed| key(seed, i64::from(seed))).collect();
        assert_eq!(store.save(revision, some, Vec::new()).await.unwrap(), SaveOutcome::Saved);
    }
    let all = load_keys(&store).await.unwrap();
    assert_eq!((all.keys.len(), all.next_id), (1100, KeyId(1101)));
    let refused = store.save(all.revision, vec![key(1100, 1101)], Vec::new()).await.unwrap_err();
    assert!(matches!(refused, StoreError::Refused(_)), "{refused}");
    // The same save removes the owner of the digest.
    let moved = store.save(all.revision, vec![key(1100, 1101)], vec![KeyId(1100)]).await;
    assert_eq!(moved.unwrap(), SaveOutcome::Saved);
    // A list that another process has changed is a conflict, whatever its digests are.
    let late = store.save(all.revision, vec![key(1100, 1102)], Vec::new()).await;
    assert_eq!(late.unwrap(), SaveOutcome::Conflict);
    assert_eq!(load_keys(&store).await.unwrap().keys.len(), 1100);
    let keys = vec![key(1200, 1200), key(1200, 1201)];
    let twice = store.write_rows(WriterRole::Service, Rows { keys, ..Rows::default() }).await;
    assert!(matches!(twice, Err(ArchiveError::Conflict { .. })), "{twice:?}");
}

#[needs(etcd)]
#[tokio::test]
async fn an_alarm_refuses_writes_and_a_check_shows_it_beside_the_space_and_the_quota() {
    let etcd = Etcd::start(1).unwrap();
    let store = open(&url(&etcd)).await;
    let about = async |subject: &str| {
        let found = store.inspect().await.unwrap().into_iter();
        found.filter(|finding| finding.subject == subject).collect::<Vec<_>>().remove(0)
    };
    let small = about("space").await;
    assert!(
        small.severity == Severity::Ok && small.detail.ends_with("quota 2048 MiB"),
        "{small:?}"
    );
    assert!(about("alarms").await.severity == Severity::Ok);
    // A deleted entry leaves room that is not in use.
    etcd.put("large", &"x".repeat(1_100_000)).unwrap();
    etcd.delete("large").unwrap();
    etcd.compact().unwrap();
    let used = |status: serde_json::Value| status["dbSizeInUse"].as_str().unwrap().len();
    for _ in 0..600 {
        if used(etcd.status().unwrap()) < 7 {
            break;
        }
        etcd.put("small", "").unwrap();
        tokio::time::sleep(Duration::from_millis(50)).await;
    }
    let space = about("space").await;
    // On a busy machine, etcd enlarges its file to 2 MiB.
    let is_small = space.detail.starts_with("0.") && !space.detail.contains(", database 0.");
    assert!(is_small && space.severity == Severity::Ok, "{space:?}");
    assert!(store.database_bytes().await.unwrap() > 1_100_000);
    // etcd raises this alarm when its data reach the quota.
    let alarm = |action: &str| {
        let request = format!(r#"{{"action":"{action}","alarm":"NOSPACE"}}"#);
        etcd.post(0, "/v3/maintenance/alarm", &request).unwrap();
    };
    alarm("ACTIVATE");
    let alarms = about("alarms").await;
    assert!(alarms.severity == Severity::Error && alarms.detail.contains("NOSPACE"), "{alarms:?}");
    let AddError::Store(refused) = store.add(rex(), None).await.unwrap_err() else { panic!() };
    assert!(matches!(refused, StoreError::Unavailable(_)), "{refused:?}");
    let remedy = "etcd is out of space: compact and defragment it, or raise its quota, then disarm";
    assert!(refused.to_string().contains(remedy), "{refused}");
    assert_eq!(page(&store).await, []);
    alarm("DEACTIVATE");
    let (added, waiting) =
        tokio::join!(store.add(rex(), None), async { store.waiting_additions() });
    assert_eq!((added.is_ok(), waiting), (true, 1));
    etcd.restart_with(&["--quota-backend-bytes=20000".to_owned()]).unwrap();
    let full = about("space").await;
    assert!(full.severity == Severity::Warning, "{full:?}");
    assert!(full.detail.contains("or raise --quota-backend-bytes"), "{full:?}");
}
