//! Rows come back as they were put, and a broken row is named.

use petstore_domain::{
    Fingerprint, IdempotencyId, IdempotencyRecord, KeyId, PetId, PetStatus, Timestamp,
};

use super::{Expiry, Keys, api_key, expiry, pet, record, window};
use crate::{
    draft::Draft,
    head::{Head, HeadRead},
    kv::{KeyValue, Range},
};

fn keys() -> Keys {
    Keys { prefix: "zoo/".to_owned() }
}

fn entry(key: &str, value: &str) -> KeyValue {
    KeyValue::new(key, value.as_bytes().to_vec())
}

#[test]
fn keys_have_the_order_of_identifiers() {
    let ids = [i64::MIN, -2, -1, 0, 1, 9, 10, i64::MAX];
    let ordered = ids.map(|id| keys().pet(None, PetId(id)));
    assert!(ordered.is_sorted(), "{ordered:?}");
    assert_eq!(ordered[4], "zoo/pets/8000000000000001");
    assert_eq!(keys().pet(Some(PetStatus::Sold), PetId(1)), "zoo/status/sold/8000000000000001");
}

fn record_at(id: u8, pet: i64, at: i64) -> IdempotencyRecord {
    IdempotencyRecord {
        id: IdempotencyId([id; 16]),
        fingerprint: Fingerprint([9; 32]),
        pet: PetId(pet),
        at: Timestamp(at),
    }
}

#[test]
fn a_record_can_be_read_and_its_expiry_entry_has_the_oldest_time() {
    let (keys, head) = (keys(), Head::new().unwrap());
    let read = HeadRead { head, entry: KeyValue::default(), revision: 1, found: Vec::new() };
    let mut draft = Draft::new(&keys, &read);
    let written = [record_at(1, -1, 5), record_at(255, -1, -5)];
    for record in &written {
        draft.put_record(record, None);
    }
    let (_, changes) = draft.finish(26).unwrap();
    let entry = |(key, value): (String, Option<_>)| KeyValue::new(&key, value.unwrap());
    let mut entries = changes.into_iter().map(entry);
    let first = entries.next().unwrap();
    let found: Vec<_> = entries.map(|entry| record(&entry).unwrap()).collect();
    assert_eq!(found, [written, written].concat(), "each record is also stored by its animal");
    let expires: Expiry = vec![("01".repeat(16), 5), ("ff".repeat(16), -5)];
    assert_eq!(first.key(), "zoo/expiry/7ffffffffffffffb/000000000000001a");
    assert_eq!(expiry(&first).unwrap(), expires);
    assert!(first.key() < keys.expiry(-4) && first.key() > keys.expiry(-5));
}

#[test]
fn the_error_for_a_corrupt_row_names_the_row() {
    let pet = |key: &str, value: &str| pet(&entry(key, value)).map(|_| ());
    let record = |key: &str, value: &str| record(&entry(key, value)).map(|_| ());
    let expiry = |key: &str, value: &str| expiry(&entry(key, value)).map(|_| ());
    let seven = "zoo/pets/8000000000000007";
    let id = format!("zoo/records/{}", "0".repeat(32));
    let (no_name, no_category) = (r#"{"name":"","category":1}"#, r#"{"name":"a"}"#);
    let no_status = r#"{"name":"a","category":1,"status":"gone"}"#;
    let no_id = r#"{"fingerprint":"","pet":1,"at":1}"#;
    let no_fingerprint = r#"{"fingerprint":"AAAA","pet":1,"at":1}"#;
    for (read, says) in [
        (pet("zoo/pets/x", "{}"), "animal x, which breaks the rule: its key ends with 16 digits"),
        (pet("zoo/pets/7", "{}"), "animal 7, which breaks the rule: its key ends with 16 digits"),
        (pet(seven, "nonsense"), "animal 7, which breaks the rule: expected"),
        (pet(seven, no_name), "animal 7, which breaks the rule: its name must have"),
        (pet(seven, no_status), "its status must be one of"),
        (pet(seven, no_category), "missing field `category`"),
        (record("zoo/records/00", no_id), "its id is 32 digits"),
        (record(&id, no_fingerprint), "its fingerprint has 32 bytes"),
        (record(&id, "[]"), "it is JSON"),
        (expiry("zoo/expiry/7/1", "{}"), "holds zoo/expiry/7/1, which breaks the rule: invalid"),
    ] {
        let corruption = read.unwrap_err().to_string();
        assert!(corruption.contains(says), "{says}: {corruption}");
    }
    let row = r#"{"name":"web","digest":"AAAA","prefix":"p","rights":"all","created":1}"#;
    let corrupt = api_key(&entry("zoo/keys/8000000000000003", row)).unwrap_err();
    assert_eq!((corrupt.id, corrupt.name.as_deref()), (Some(KeyId(3)), Some("web")));
    assert_eq!(corrupt.corruption.what, "API key 3");
    let unreadable = api_key(&entry("zoo/keys/8000000000000003", "[]")).unwrap_err();
    assert_eq!((unreadable.id, unreadable.name), (Some(KeyId(3)), None));
}

#[test]
fn a_window_ends_after_its_last_identifier() {
    let folder = keys().folder("recorded");
    let after = keys().recorded(record_at(1, 5, 0).position());
    let range = Range::after(Some(after), &folder);
    let below = Range::after(Some(keys().pet(None, PetId(i64::MIN))), &keys().pets(None));
    let whole = window(&keys().pets(None), &below, usize::MAX);
    assert_eq!(whole, (below.end, i64::MAX), "the whole range, however low its first identifier");
    for (ids, last) in [(80, 85), (5120, 5125), (usize::MAX, i64::MAX)] {
        let (end, found) = window(&folder, &range, ids);
        assert_eq!(found, last);
        let contains = |pet| {
            let key = keys().recorded(record_at(255, pet, 0).position()).into_bytes();
            range.key.0 <= key && key < end.0
        };
        assert!(contains(5) && contains(last) && !contains(4));
        assert!(last == i64::MAX || !contains(last + 1));
        if last < i64::MAX {
            let next = Range { key: end, ..range.clone() };
            assert_eq!(window(&folder, &next, 80).1, last + 80, "the next window follows it");
        }
    }
    let folder = keys().pets(None);
    let (end, last) = window(&folder, &Range::after(None, &folder), 10);
    let key = |id| keys().pet(None, PetId(id)).into_bytes();
    assert!(folder.into_bytes() < key(i64::MIN) && key(last) < end.0 && end.0 < key(last + 1));
}
