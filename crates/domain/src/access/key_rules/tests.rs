use super::KeySelector;
use crate::{
    ApiKey, CorruptKey, KeyChangeError, KeyDigest, KeyId, KeyRights, NewApiKey, StoreError,
    StoredKeys, Timestamp,
    access::tests::{corrupt, name},
};

const NOW: Timestamp = Timestamp(1000);
const LATER: Timestamp = Timestamp(2000);

/// Makes a key that is created at `NOW`.
fn new(called: &str) -> NewApiKey {
    NewApiKey {
        name: name(called),
        digest: KeyDigest([1; 32]),
        prefix: "pst_1234".to_owned(),
        rights: KeyRights::Full,
        created_at: NOW,
        expires_at: None,
    }
}

fn key(id: i64, called: &str) -> ApiKey {
    new(called).with_id(KeyId(id))
}

fn ending(id: i64, called: &str, expires_at: impl Into<Option<i64>>) -> ApiKey {
    ApiKey { expires_at: expires_at.into().map(Timestamp), ..key(id, called) }
}

fn expired(id: i64, called: &str) -> ApiKey {
    ending(id, called, NOW.0)
}

fn revoked(id: i64, called: &str) -> ApiKey {
    ApiKey { revoked_at: Some(NOW), ..key(id, called) }
}

#[test]
fn a_key_is_added_under_the_next_identifier_and_a_free_name() {
    let stored = vec![expired(1, "web"), revoked(2, "web"), key(3, "app")];
    let stored = StoredKeys { next_id: KeyId(9), ..stored.into() };
    let (added, change) = stored.add(new("web"), None).unwrap();
    assert_eq!(added, key(9, "web"));
    assert_eq!((change.changed, change.removed), (vec![added], vec![]));
    assert!(matches!(stored.add(new("app"), None), Err(KeyChangeError::NameTaken)));
}

#[test]
fn the_number_of_live_keys_is_limited() {
    let mut stored: StoredKeys =
        (1..10_000).map(|id| key(id, &format!("k{id}"))).collect::<Vec<_>>().into();
    let (last, _) = stored.add(new("x"), None).unwrap();
    stored.keys.push(last);
    stored.next_id = KeyId(10_001);
    assert!(matches!(stored.add(new("k1"), None), Err(KeyChangeError::NameTaken)));
    assert!(matches!(stored.add(new("y"), Some(LATER)), Err(KeyChangeError::NoSuchKey)));
    for full in [stored.add(new("y"), None), stored.add(new("k1"), Some(LATER))] {
        let text = full.unwrap_err().to_string();
        assert_eq!(text, "the store already holds 10000 live keys, which is the maximum");
    }
    stored.keys[6].expires_at = Some(NOW);
    stored.add(new("y"), None).unwrap();
}

#[test]
fn a_roll_retires_every_live_key_of_its_name_and_no_other() {
    let soon = ending(4, "web", 1001);
    let stored: StoredKeys =
        vec![key(1, "web"), key(2, "app"), expired(3, "web"), soon.clone(), revoked(5, "web")]
            .into();
    let (rolled, change) = stored.add(new("web"), Some(LATER)).unwrap();
    assert_eq!(rolled, key(6, "web"));
    let ended = ending(1, "web", LATER.0);
    assert_eq!((change.changed, change.removed), (vec![ended, soon, rolled], vec![]));
}

#[test]
fn the_newest_live_key_decides_the_rights() {
    let reads = ApiKey { rights: KeyRights::ReadOnly, ..key(2, "web") };
    let stored: StoredKeys =
        vec![key(1, "web"), reads, revoked(3, "web"), key(4, "app"), revoked(5, "old")].into();
    for (called, rights) in [
        ("web", KeyRights::ReadOnly),
        ("app", KeyRights::Full),
        // No live key has this name.
        ("old", KeyRights::ReadOnly),
    ] {
        assert_eq!(stored.rights_of(&name(called), LATER), rights, "{called}");
    }
}

#[test]
fn the_newest_live_key_decides_the_lifetime() {
    let stored: StoredKeys =
        vec![ending(1, "web", 5000), ending(2, "web", 4000), revoked(3, "web")].into();
    let lifetime = |called| stored.lifetime_of(&name(called), LATER).map(|life| life.as_millis());
    assert_eq!(lifetime("web"), Some(3000));
    assert_eq!(lifetime("app"), None);
    let endless: StoredKeys = vec![ending(1, "web", 5000), key(2, "web")].into();
    assert_eq!(endless.lifetime_of(&name("web"), LATER), None);
    // The clock was set back, so the lifetime is 0. A new key still gets an expiry.
    let odd = ApiKey { created_at: Timestamp(9000), ..ending(1, "web", 5000) };
    let odd: StoredKeys = vec![odd].into();
    assert_eq!(odd.lifetime_of(&name("web"), LATER).map(|life| life.as_millis()), Some(0));
}

#[test]
fn the_number_of_live_keys_of_one_name_is_limited() {
    let mut stored: StoredKeys = (1..=50).map(|id| key(id, "web")).collect::<Vec<_>>().into();
    let refused = stored.add(new("web"), Some(LATER));
    let text = refused.unwrap_err().to_string();
    assert!(
        text.starts_with("50 keys of this name are still live, which is the maximum; "),
        "{text}"
    );
    stored.keys[0].expires_at = Some(NOW);
    let (_, change) = stored.add(new("web"), Some(LATER)).unwrap();
    assert_eq!(change.changed.len(), 50);
}

#[test]
fn live_and_expired_keys_are_revoked() {
    let stored: StoredKeys =
        vec![expired(1, "web"), revoked(2, "web"), key(3, "web"), key(4, "app")].into();
    let ids = |selector| -> Vec<i64> {
        let (revoked, change) = stored.revoke(&selector, LATER).unwrap();
        assert_eq!((&change.changed, change.removed), (&revoked, vec![]));
        assert!(revoked.iter().all(|key| key.revoked_at == Some(LATER)));
        revoked.iter().map(|key| key.id.0).collect()
    };
    assert_eq!(ids(KeySelector::Name(name("web"))), [3, 1]);
    assert_eq!(ids(KeySelector::Id(KeyId(4))), [4]);
    assert_eq!(ids(KeySelector::Name(name("x"))), []);
    for id in [2, 9] {
        assert_eq!(ids(KeySelector::Id(KeyId(id))), [], "{id}");
    }
}

#[test]
fn the_key_of_a_corrupt_row_is_not_changed() {
    let mut stored: StoredKeys = vec![key(1, "web")].into();
    stored.corrupt = vec![corrupt(2, "app"), CorruptKey { name: None, ..corrupt(7, "") }];
    stored.next_id = KeyId(8);
    for retire_at in [None, Some(LATER)] {
        let refused = stored.add(new("app"), retire_at);
        assert!(matches!(refused, Err(KeyChangeError::Store(StoreError::Corrupt(_)))));
    }
    for selector in [KeySelector::Name(name("app")), KeySelector::Id(KeyId(7))] {
        assert!(matches!(stored.revoke(&selector, LATER), Err(StoreError::Corrupt(_))));
    }
    // Other keys can still be changed.
    assert_eq!(stored.add(new("x"), None).unwrap().0.id, KeyId(8));
    assert_eq!(stored.add(new("web"), Some(LATER)).unwrap().0.id, KeyId(8));
    assert_eq!(stored.revoke(&KeySelector::Id(KeyId(1)), LATER).unwrap().0.len(), 1);
}

#[test]
fn an_identifier_in_use_is_not_assigned() {
    let mut stored: StoredKeys = vec![key(i64::MAX - 1, "web")].into();
    assert_eq!(stored.add(new("x"), None).unwrap().0.id, KeyId(i64::MAX));
    stored.corrupt = vec![corrupt(i64::MAX, "app")];
    let refused = stored.add(new("x"), None);
    assert!(matches!(refused, Err(KeyChangeError::Store(StoreError::Refused(_)))));
}

#[test]
fn keys_that_ended_first_are_removed_first() {
    let count = 10_000;
    let ended = |id: i64| {
        // The earlier of expiry and revocation is the end.
        let end = Some(Timestamp(NOW.0 - id));
        let key = key(id, "web");
        if id % 2 == 0 {
            ApiKey { expires_at: end, revoked_at: Some(NOW), ..key }
        } else {
            ApiKey { revoked_at: end, ..key }
        }
    };
    let mut keys: Vec<_> = (1..=count).map(ended).collect();
    keys.push(key(count + 1, "app"));
    let stored: StoredKeys = keys.clone().into();
    assert_eq!(stored.add(new("x"), None).unwrap().1.removed, []);
    keys.extend((count + 2..count + 5).map(ended));
    let stored: StoredKeys = keys.clone().into();
    let removed = [count + 4, count + 3, count + 2].map(KeyId);
    assert_eq!(stored.add(new("x"), None).unwrap().1.removed, removed);
    assert_eq!(stored.add(new("app"), Some(LATER)).unwrap().1.removed, removed);
    // One save removes no more keys than it has room for.
    keys.extend((count + 5..count + 205).map(ended));
    let stored: StoredKeys = keys.into();
    assert_eq!(stored.add(new("x"), None).unwrap().1.removed.len(), 99);
}

const DAY: i64 = 86_400_000;

#[test]
fn a_key_without_a_successor_expires_soon_in_its_last_two_weeks() {
    let revoked = |key: ApiKey| ApiKey { revoked_at: Some(Timestamp(1)), ..key };
    let keys = [
        ending(1, "soon", 114 * DAY),
        ending(2, "later", 114 * DAY + 1),
        ending(3, "never", None),
        ending(4, "over", 100 * DAY),
        revoked(ending(5, "revoked", 100 * DAY + 1)),
        ending(6, "rolled", 101 * DAY),
        ending(7, "rolled", None),
        ending(8, "rolled-again", 101 * DAY),
        ending(9, "rolled-again", 102 * DAY),
        ending(10, "successor-revoked", 101 * DAY),
        revoked(ending(11, "successor-revoked", None)),
        revoked(ending(12, "successor-revoked", 200 * DAY)),
        ending(13, "ends-together", 101 * DAY),
        ending(14, "ends-together", 101 * DAY),
        ending(15, "successor-ends-first", 102 * DAY),
        ending(16, "successor-ends-first", 101 * DAY),
    ];
    let stored = StoredKeys::from(Vec::from(keys));
    let soon: Vec<_> = stored.expiring_soon(Timestamp(100 * DAY)).map(|key| key.id.0).collect();
    assert_eq!(soon, [1, 9, 10, 14, 16]);
}
