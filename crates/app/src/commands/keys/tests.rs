use std::time::Duration;

use petstore_domain::{
    ApiKeySecret, CorruptKey, Corruption, KeyChangeError, KeyId, KeyName, KeyRights, KeySelector,
    KeyState, KeyStore, MockKeyStore, NewApiKey, StoredKeys, Timestamp, load_keys,
};
use petstore_memory::MemoryStore;

use super::{Keys, listing::ListForm};
use crate::system::{Failure, Recorded, rfc3339};

/// 20 November 2026, 00:00 UTC.
const NOW: Timestamp = Timestamp(1_795_132_800_000);
const A_DAY: Duration = Duration::from_hours(24);

fn web() -> KeyName {
    KeyName::parse("web").unwrap()
}

fn on<'a>(store: &'a dyn KeyStore, out: &'a mut Recorded) -> Keys<'a, Recorded> {
    Keys { store, now: NOW, out }
}

async fn states(keys: &MemoryStore, now: Timestamp) -> Vec<KeyState> {
    let stored = load_keys(keys).await.unwrap();
    stored.keys.iter().map(|key| key.state(now)).collect()
}

/// Creates the key 'web' with all rights.
async fn create(store: &MemoryStore) {
    on(store, &mut Recorded::default()).create(web(), KeyRights::Full, None).await.unwrap();
}

fn runtime(failure: Result<(), Failure>) -> String {
    match failure {
        Err(Failure::Runtime(line)) => line,
        other => panic!("{other:?}"),
    }
}

#[tokio::test]
async fn the_error_names_a_remedy_if_a_name_is_in_use_or_unknown() {
    let keys = MemoryStore::new();
    let mut out = Recorded::default();
    let line = runtime(on(&keys, &mut out).roll(web(), A_DAY, None).await);
    assert!(line.starts_with("no live key has the name 'web'"), "{line}");
    create(&keys).await;
    let line = runtime(on(&keys, &mut out).create(web(), KeyRights::Full, None).await);
    assert!(line.ends_with("or replace it by 'petstore keys roll web'"), "{line}");
    let line = super::refused(&web())(KeyChangeError::TooManyOfOneName(9)).to_string();
    assert!(line.starts_with("9 keys of this name are still live"), "{line}");
    assert_eq!(out.answers, "");
}

#[tokio::test]
async fn a_key_that_nobody_can_read_is_not_created_or_revoked() {
    let keys = MemoryStore::new();
    let mut closed = Recorded { closed: true, ..Recorded::default() };
    runtime(on(&keys, &mut closed).create(web(), KeyRights::Full, None).await);
    assert_eq!(states(&keys, NOW).await, []);
    let mut breaking = Recorded { breaks_after: Some(0), ..Recorded::default() };
    let line = runtime(on(&keys, &mut breaking).create(web(), KeyRights::Full, None).await);
    assert!(line.contains("the new key 1 was revoked"), "{line}");
    create(&keys).await;
    let mut breaking = Recorded { breaks_after: Some(0), ..Recorded::default() };
    let line = runtime(on(&keys, &mut breaking).roll(web(), A_DAY, None).await);
    let old = "the new key 3 was revoked, because nobody has seen it; the old one is valid until 2026-11-21T";
    assert!(line.contains(old), "{line}");
    assert_eq!(states(&keys, NOW).await, [KeyState::Revoked, KeyState::Live, KeyState::Revoked]);
}

#[tokio::test]
async fn a_roll_creates_a_key_and_lets_the_old_one_expire() {
    for (overlap, old) in [
        (A_DAY, "is valid until 2026-11-21T00:00:00Z at the latest"),
        (Duration::ZERO, "is refused from now on"),
    ] {
        let keys = MemoryStore::new();
        create(&keys).await;
        let mut out = Recorded::default();
        on(&keys, &mut out).roll(web(), overlap, None).await.unwrap();
        let expected = format!(
            "The new key 'web' is shown this once. A running service accepts it within a second. It is valid until it is revoked. \
             The old one {old}.\n"
        );
        assert_eq!(out.notes, expected);
        assert!(ApiKeySecret::new(out.answers.trim_end()).is_well_formed());
        let live_before = if overlap.is_zero() { 1 } else { 2 };
        let stored = load_keys(&keys).await.unwrap();
        assert_eq!(stored.live(NOW).count(), live_before, "{old}");
        assert_eq!(states(&keys, NOW.plus(overlap)).await, [KeyState::Expired, KeyState::Live]);
    }
}

#[tokio::test]
async fn a_rolled_key_has_the_lifetime_of_the_old_one_or_the_given_one() {
    let keys = MemoryStore::new();
    let lifetime = Some(10 * A_DAY);
    on(&keys, &mut Recorded::default()).create(web(), KeyRights::Full, lifetime).await.unwrap();
    for (day, asked, end) in [(4, None, 14), (5, Some(30 * A_DAY), 35), (6, None, 36)] {
        let mut out = Recorded::default();
        let keys_then = Keys { store: &keys, now: NOW.plus(day * A_DAY), out: &mut out };
        keys_then.roll(web(), A_DAY, asked).await.unwrap();
        let (last, end) =
            (load_keys(&keys).await.unwrap().keys.pop().unwrap(), NOW.plus(end * A_DAY));
        assert_eq!(last.expires_at, Some(end));
        assert!(out.notes.contains(&format!("valid until {}.", rfc3339(end))), "{}", out.notes);
    }
}

#[tokio::test]
async fn a_revocation_names_the_revoked_keys_and_fails_without_any() {
    let keys = MemoryStore::new();
    create(&keys).await;
    for _ in 0..2 {
        on(&keys, &mut Recorded::default()).roll(web(), A_DAY, None).await.unwrap();
    }
    let mut out = Recorded::default();
    on(&keys, &mut out).revoke(KeySelector::Id(KeyId(1))).await.unwrap();
    assert!(out.answers.starts_with("revoked key 1 'web' (pst_"), "{}", out.answers);
    on(&keys, &mut out).revoke(KeySelector::Name(web())).await.unwrap();
    assert_eq!(out.answers.lines().count(), 3, "{}", out.answers);

    for (selector, named) in [
        (KeySelector::Id(KeyId(1)), "the identifier 1"),
        (KeySelector::Name(web()), "the name 'web'"),
    ] {
        let line = runtime(on(&keys, &mut out).revoke(selector).await);
        assert!(line.starts_with(&format!("no key with {named} is left to revoke")), "{line}");
    }
}

#[tokio::test]
async fn corrupt_keys_fail_the_list_and_are_named() {
    let mut keys = MockKeyStore::new();
    let secret = ApiKeySecret::from_entropy(&[1; 32]);
    let key = NewApiKey::new(web(), &secret, NOW, None);
    keys.expect_load().returning(move |_| {
        let corrupt = (0..12).map(|id| Corruption::new(format!("API key {id}"), "a rule"));
        let corrupt =
            corrupt.map(|corruption| CorruptKey { id: None, name: None, corruption }).collect();
        Ok(Some(StoredKeys { corrupt, ..vec![key.clone().with_id(KeyId(7))].into() }))
    });
    let mut out = Recorded::default();
    let line = runtime(on(&keys, &mut out).list(ListForm::Table).await);
    let named = "the service refuses corrupt keys: API key 0 (a rule), API key 1 (";
    assert!(line.starts_with(named), "{line}");
    assert!(line.ends_with(", API key 9 (a rule), and 2 more"), "{line}");
    assert!(out.answers.lines().any(|line| line.starts_with("7 ")), "{}", out.answers);
}
