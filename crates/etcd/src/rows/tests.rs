//! Rows come back as they were put, and a broken row is named.

use petstore_domain::{
    ApiKeySecret, CategoryId, Fingerprint, IdempotencyId, IdempotencyRecord, KeyId, KeyName,
    KeyRights, NewApiKey, Pet, PetId, PetName, PetStatus, Timestamp,
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

/// Returns the entries that `write` puts, in the order of their keys. The transaction has the name 26.
fn entries(write: impl FnOnce(&mut Draft<'_>)) -> Vec<KeyValue> {
    let (keys, head) = (keys(), Head::new().unwrap());
    let read = HeadRead { head, entry: KeyValue::default(), revision: 1, found: Vec::new() };
    let mut draft = Draft::new(&keys, &read);
    write(&mut draft);
    let (_, changes) = draft.finish(26).unwrap();
    let entry = |(key, value): (String, Option<_>)| Some(KeyValue::new(&key, value?));
    changes.into_iter().filter_map(entry).collect()
}

#[test]
fn keys_have_the_order_of_identifiers() {
    let ids = [i64::MIN, -2, -1, 0, 1, 9, 10, i64::MAX];
    let ordered = ids.map(|id| keys().pet(None, PetId(id)));
    assert!(ordered.is_sorted(), "{ordered:?}");
    assert_eq!(ordered[4], "zoo/pets/8000000000000001");
    assert_eq!(keys().pet(Some(PetStatus::Sold), PetId(1)), "zoo/status/sold/8000000000000001");
    for (id, key) in ids.iter().zip(ordered) {
        let stored = pet(&entry(&key, r#"{"name":"Rex","category":1}"#)).unwrap();
        assert_eq!(stored.id, PetId(*id));
    }
}

#[test]
fn an_animal_can_be_read_from_each_of_its_entries() {
    for (name, status) in [("Rex", None), ("\"\\/🐕\u{2028}", Some(PetStatus::Pending))] {
        let name = PetName::parse(name).unwrap();
        let stored = Pet { id: PetId(7), name, category_id: CategoryId(i64::MIN), status };
        let entries = entries(|draft| draft.put_pet(&stored));
        assert_eq!(entries.len(), if status.is_some() { 2 } else { 1 });
        for entry in &entries {
            assert_eq!(pet(entry).unwrap(), stored);
        }
    }
}

#[test]
fn an_animal_of_release_1_2_is_read() {
    let row = r#"{"name":"Rex","category":1,"status":null,"records":["0a0b"]}"#;
    assert_eq!(pet(&entry("zoo/pets/8000000000000001", row)).unwrap().id, PetId(1));
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
    let written = [record_at(1, -1, 5), record_at(255, -1, -5)];
    let entries = entries(|draft| written.iter().for_each(|record| draft.put_record(record, None)));
    let (first, records) = entries.split_at(1);
    let found: Vec<_> = records.iter().map(|entry| record(entry).unwrap()).collect();
    assert_eq!(found, [written, written].concat(), "each record is also stored by its animal");
    let expires: Expiry = vec![("01".repeat(16), 5), ("ff".repeat(16), -5)];
    assert_eq!(first[0].key(), "zoo/expiry/7ffffffffffffffb/000000000000001a");
    assert_eq!(expiry(&first[0]).unwrap(), expires);
    assert!(first[0].key() < keys().expiry(-4) && first[0].key() > keys().expiry(-5));
}

#[test]
fn records_have_the_order_of_their_positions() {
    let records =
        [record_at(9, i64::MIN, 0), record_at(2, 1, 0), record_at(255, 1, 0), record_at(1, 2, 0)];
    let keys = records.map(|record| keys().recorded(record.position()));
    assert!(keys.is_sorted(), "{keys:?}");
}

#[test]
fn a_stored_api_key_can_be_read() {
    let secret = ApiKeySecret::with_rights(&[3; 32], KeyRights::ReadOnly);
    let name = KeyName::parse("web").unwrap();
    let mut key = NewApiKey::new(name, &secret, Timestamp(1), None).with_id(KeyId(4));
    for moments in [[None; 3], [Some(Timestamp(5)), Some(Timestamp(6)), Some(Timestamp(7))]] {
        [key.expires_at, key.revoked_at, key.last_used_at] = moments;
        let entries = entries(|draft| draft.put_api_key(&key));
        assert_eq!(api_key(&entries[0]).unwrap(), key);
    }
}

#[test]
fn the_error_for_a_corrupt_row_names_the_row() {
    let pet = |name: &str, value| pet(&entry(&format!("zoo/pets/{name}"), value));
    for (name, value, says) in [
        ("x", "{}", "animal x, which breaks the rule: its key ends with 16 digits"),
        ("8000000000000007", "nonsense", "animal 7, which breaks the rule: expected"),
        (
            "8000000000000007",
            r#"{"name":"","category":1}"#,
            "animal 7, which breaks the rule: its name must have",
        ),
        (
            "8000000000000007",
            r#"{"name":"a","category":1,"status":"gone"}"#,
            "its status must be one of",
        ),
        ("8000000000000007", r#"{"name":"a"}"#, "missing field `category`"),
    ] {
        let corruption = pet(name, value).unwrap_err().to_string();
        assert!(corruption.contains(says), "{corruption}");
    }
    let id = "0".repeat(32);
    for (name, value, says) in [
        ("00", r#"{"fingerprint":"","pet":1,"at":1}"#, "its id is 32 digits"),
        (&id, r#"{"fingerprint":"AAAA","pet":1,"at":1}"#, "its fingerprint has 32 bytes"),
        (&id, "[]", "it is JSON"),
    ] {
        let corruption = record(&entry(&format!("zoo/records/{name}"), value)).unwrap_err();
        assert!(corruption.to_string().contains(says), "{corruption}");
    }
    let row = r#"{"name":"web","digest":"AAAA","prefix":"p","rights":"all","created":1}"#;
    let corrupt = api_key(&entry("zoo/keys/8000000000000003", row)).unwrap_err();
    assert_eq!((corrupt.id, corrupt.name.as_deref()), (Some(KeyId(3)), Some("web")));
    assert_eq!(corrupt.corruption.what, "API key 3");
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
