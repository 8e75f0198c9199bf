//! Rows come back as they were put, and what is not one says why.

use petstore_domain::{
    ApiKeySecret, CategoryId, Fingerprint, IdempotencyId, IdempotencyRecord, KeyId, KeyName,
    KeyRights, NewApiKey, Pet, PetId, PetName, PetStatus, Timestamp,
};

use super::{
    Expiry, Keys, Puts, StoredPet, api_key, expiry, put_api_key, put_expiry, put_record, record,
};
use crate::kv::{Bytes, KeyValue};

fn keys() -> Keys {
    Keys { prefix: "zoo/".to_owned() }
}

fn entry(key: &str, value: &str) -> KeyValue {
    KeyValue { key: key.into(), value: value.into(), ..KeyValue::default() }
}

/// Everything that was put, in the order of the keys.
fn entries(puts: Puts) -> Vec<KeyValue> {
    let entry = |(key, value): (String, _)| KeyValue { value: Bytes(value), ..entry(&key, "") };
    puts.into_iter().map(entry).collect()
}

fn pet(id: i64, name: &str, status: Option<PetStatus>) -> StoredPet {
    let name = PetName::parse(name).unwrap();
    let pet = Pet { id: PetId(id), name, category_id: CategoryId(i64::MIN), status };
    StoredPet { pet, records: Vec::new() }
}

#[test]
fn the_order_of_keys_is_that_of_identifiers() {
    let ids = [i64::MIN, -2, -1, 0, 1, 9, 10, i64::MAX];
    let ordered = ids.map(|id| keys().pet(None, PetId(id)));
    assert!(ordered.is_sorted(), "{ordered:?}");
    assert_eq!(ordered[4], "zoo/pets/8000000000000001");
    assert_eq!(keys().pet(Some(PetStatus::Sold), PetId(1)), "zoo/status/sold/8000000000000001");
    for (id, key) in ids.iter().zip(ordered) {
        let stored = StoredPet::from_entry(&entry(&key, r#"{"name":"Rex","category":1}"#)).unwrap();
        assert_eq!(stored.pet.id, PetId(*id));
    }
}

#[test]
fn an_animal_comes_back_from_both_of_its_entries() {
    for (name, status) in [("Rex", None), ("\"\\/🐕\u{2028}", Some(PetStatus::Pending))] {
        let (mut puts, stored) = (Puts::new(), pet(7, name, status));
        let stored = StoredPet { records: vec!["0a".repeat(16)], ..stored };
        stored.put(&mut puts, &keys(), true);
        let entries = entries(puts);
        assert_eq!(entries.len(), if status.is_some() { 2 } else { 1 });
        assert_eq!(StoredPet::from_entry(&entries[0]).unwrap(), stored);
        for entry in &entries[1..] {
            let expected = StoredPet { records: Vec::new(), ..stored.clone() };
            assert_eq!(StoredPet::from_entry(entry).unwrap(), expected);
        }
        let mut puts = Puts::new();
        stored.put(&mut puts, &keys(), false);
        assert_eq!(puts.len(), 1);
    }
}

#[test]
fn a_record_comes_back_and_expires_by_the_time_of_the_oldest() {
    let (mut puts, mut expires) = (Puts::new(), Expiry::new());
    let record_at = |id, at| IdempotencyRecord {
        id: IdempotencyId([id; 16]),
        fingerprint: Fingerprint([9; 32]),
        pet: PetId(-1),
        at: Timestamp(at),
    };
    for (id, at) in [(1, 5), (255, -5)] {
        put_record(&mut puts, &keys(), &mut expires, &record_at(id, at));
    }
    let found: Vec<_> = entries(puts).iter().map(|entry| record(entry).unwrap()).collect();
    assert_eq!(found, [record_at(1, 5), record_at(255, -5)]);
    let mut puts = Puts::new();
    put_expiry(&mut puts, &keys(), 1, &Expiry::new());
    assert!(puts.is_empty());
    put_expiry(&mut puts, &keys(), 26, &expires);
    let entries = entries(puts);
    assert_eq!(entries[0].key(), "zoo/expiry/7ffffffffffffffb/000000000000001a");
    assert_eq!(expiry(&entries[0]).unwrap(), expires);
    assert!(entries[0].key() < keys().expiry(-4) && entries[0].key() > keys().expiry(-5));
}

#[test]
fn an_api_key_comes_back() {
    let secret = ApiKeySecret::with_rights(&[3; 32], KeyRights::ReadOnly);
    let name = KeyName::parse("web").unwrap();
    let mut key = NewApiKey::new(name, &secret, Timestamp(1), None).with_id(KeyId(4));
    for moments in [[None; 3], [Some(Timestamp(5)), Some(Timestamp(6)), Some(Timestamp(7))]] {
        [key.expires_at, key.revoked_at, key.last_used_at] = moments;
        let mut puts = Puts::new();
        put_api_key(&mut puts, &keys(), &key);
        assert_eq!(api_key(&entries(puts)[0]).unwrap(), key);
    }
}

#[test]
fn a_row_that_breaks_a_rule_is_named() {
    let pet = |name: &str, value| StoredPet::from_entry(&entry(&format!("zoo/pets/{name}"), value));
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
