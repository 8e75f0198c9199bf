use std::{
    collections::BTreeSet,
    sync::{
        Arc, Mutex,
        atomic::{AtomicBool, Ordering},
    },
    time::Duration,
};

use mockall::predicate::eq;

use super::{KeyCheck, KeyRing};
use crate::{
    ApiKey, ApiKeySecret, Caller, Clock, CorruptKey, Corruption, KeyId, KeyLabel, KeyName,
    KeyRevision, KeyRights, MAX_KEYS_PER_SAVE, ManualClock, MockKeyStore, NamedKey, NewApiKey,
    ServiceKey, StoreError, StoredKeys, Timestamp,
};

const START: Timestamp = Timestamp(1_800_000_000_000);
const FRESH: Option<Duration> = Some(Duration::ZERO);

fn secret(seed: u8) -> ApiKeySecret {
    ApiKeySecret::from_entropy(&[seed; 32])
}

fn stored(seed: u8) -> ApiKey {
    NewApiKey::new(KeyName::parse("web").unwrap(), &secret(seed), START, None)
        .with_id(KeyId(i64::from(seed)))
}

fn web() -> Option<KeyLabel> {
    KeyName::parse("web").ok().map(KeyLabel::Stored)
}

fn ring(keys: MockKeyStore) -> (KeyRing, Arc<ManualClock>) {
    let clock = Arc::new(ManualClock::new(START));
    (KeyRing::new(Arc::new(keys), clock.clone(), None), clock)
}

/// Makes a ring and refreshes it with these keys.
async fn holding(keys: Vec<ApiKey>) -> (KeyRing, Arc<ManualClock>) {
    let mut store = MockKeyStore::new();
    store.expect_load().once().returning(move |_| Ok(Some(keys.clone().into())));
    let (ring, clock) = ring(store);
    ring.refresh().await.unwrap();
    (ring, clock)
}

fn granted(seed: u8) -> KeyCheck {
    KeyCheck::Granted(Caller { digest: secret(seed).digest(), rights: KeyRights::Full })
}

#[tokio::test]
async fn a_key_is_checked_only_against_recent_keys() {
    let (ring, _clock) = holding(vec![stored(1)]).await;
    for (age, is_trusted) in [
        (None, false),
        (FRESH, true),
        (Some(KeyRing::MAX_AGE), true),
        (Some(KeyRing::MAX_AGE + Duration::from_nanos(1)), false),
    ] {
        let (one, other) = if is_trusted {
            (granted(1), KeyCheck::NotLive(None))
        } else {
            (KeyCheck::Stale, KeyCheck::Stale)
        };
        assert_eq!((ring.check(&secret(1), age), ring.check(&secret(2), age)), (one, other));
    }
}

#[tokio::test]
async fn a_key_of_another_form_is_refused_even_if_the_store_has_it() {
    let mut wrong = secret(1).expose().to_owned();
    wrong.replace_range(4..5, if wrong.as_bytes()[4] == b'0' { "1" } else { "0" });
    let held = ApiKey { digest: ApiKeySecret::new(&*wrong).digest(), ..stored(1) };
    let (ring, _clock) = holding(vec![held, stored(2)]).await;
    for age in [None, FRESH] {
        for text in [wrong.as_str(), "", "pst_", "a-key-of-another-form"] {
            let check = ring.check(&ApiKeySecret::new(text), age);
            assert_eq!(check, KeyCheck::Malformed, "{text:?}");
        }
    }
}

#[tokio::test]
async fn the_service_key_needs_no_store() {
    let key = "any-form,-but-visible-only";
    let keys = Arc::new(MockKeyStore::new()); // No call is expected.
    let clock = Arc::new(ManualClock::new(START));
    let ring = KeyRing::new(keys, clock, Some(ServiceKey::parse(key).unwrap()));
    let KeyCheck::Granted(caller) = ring.check(&ApiKeySecret::new(key), None) else {
        panic!("it is not granted")
    };
    assert_eq!(ring.key_label(&caller), Some(KeyLabel::Service));
    let own = NamedKey { label: KeyLabel::Service, expires_at: None };
    assert_eq!(ring.named_keys(), [own]);
    let other = ApiKeySecret::new("another-key-of-any-form");
    assert_eq!(ring.check(&other, None), KeyCheck::Malformed);
}

#[tokio::test]
async fn keys_are_replaced_only_if_they_have_changed() {
    let mut keys = MockKeyStore::new();
    let mut loads = vec![
        (None, Ok(Some(vec![stored(1)]))),
        (Some(KeyRevision(0)), Ok(None)),
        (Some(KeyRevision(0)), Err(StoreError::unavailable("gone"))),
        (Some(KeyRevision(0)), Ok(Some(vec![stored(2)]))),
    ]
    .into_iter();
    keys.expect_load().times(4).returning(move |unless| {
        let (known, loaded) = loads.next().unwrap();
        assert_eq!(unless, known);
        let revision = KeyRevision(0);
        loaded.map(|keys| keys.map(|keys| StoredKeys { revision, ..keys.into() }))
    });
    let (ring, _clock) = ring(keys);
    for (fails, live) in [(false, 1), (false, 1), (true, 1), (false, 2)] {
        assert_eq!(ring.refresh().await.is_err(), fails);
        assert_eq!(ring.check(&secret(live), FRESH), granted(live));
        assert_eq!(ring.check(&secret(3 - live), FRESH), KeyCheck::NotLive(None));
    }
}

#[tokio::test]
async fn a_key_that_is_no_longer_live_is_named() {
    let revoked = ApiKey { revoked_at: Some(START), ..stored(2) };
    let expiry = START.plus(Duration::from_millis(50));
    let brief = ApiKey { expires_at: Some(expiry), ..stored(3) };
    let (ring, clock) = holding(vec![stored(1), revoked, brief]).await;
    let named = KeyCheck::NotLive(web());
    assert_eq!(ring.check(&secret(2), FRESH), named);
    clock.advance(Duration::from_millis(49));
    assert_eq!((ring.check(&secret(3), FRESH), ring.live_keys()), (granted(3), 2));
    let ends = NamedKey { label: web().unwrap(), expires_at: Some(expiry) };
    assert!(ring.named_keys().contains(&ends));
    clock.advance(Duration::from_millis(1));
    assert_eq!((ring.check(&secret(3), FRESH), ring.live_keys()), (named, 1));
    let still = NamedKey { label: web().unwrap(), expires_at: None };
    assert_eq!(ring.named_keys(), [still]);
    let caller = |seed| Caller { digest: secret(seed).digest(), rights: KeyRights::Full };
    assert_eq!((ring.key_label(&caller(1)), ring.key_label(&caller(9))), (web(), None));
}

#[tokio::test]
async fn a_corrupt_key_is_refused_and_others_are_granted() {
    let corruption = Corruption::new("API key 1", "a digest has 32 bytes");
    let corrupt = CorruptKey { id: Some(KeyId(1)), name: None, corruption: corruption.clone() };
    let mut keys = MockKeyStore::new();
    let found = StoredKeys { corrupt: vec![corrupt], ..vec![stored(2)].into() };
    keys.expect_load().once().returning(move |_| Ok(Some(found.clone())));
    keys.expect_load().returning(|_| Ok(Some(vec![stored(1), stored(2)].into())));
    let (ring, _clock) = ring(keys);
    assert_eq!(ring.corruptions(), []);
    ring.refresh().await.unwrap();
    assert_eq!(ring.check(&secret(2), FRESH), granted(2));
    assert_eq!(ring.check(&secret(1), FRESH), KeyCheck::NotLive(None));
    assert_eq!(ring.corruptions(), [corruption]);
    ring.refresh().await.unwrap();
    assert_eq!(ring.check(&secret(1), FRESH), granted(1));
    assert_eq!(ring.corruptions(), []);
}

#[tokio::test]
async fn uses_are_written_back_once_a_minute_and_when_a_key_ends() {
    let mut keys = MockKeyStore::new();
    let is_revoked = Arc::new(AtomicBool::new(false));
    let ends = Arc::clone(&is_revoked);
    keys.expect_load().returning(move |_| {
        let revoked_at = ends.load(Ordering::Relaxed).then_some(START);
        Ok(Some(vec![ApiKey { revoked_at, ..stored(1) }, stored(2)].into()))
    });
    keys.expect_note_uses().once().returning(|_| Err(StoreError::unavailable("gone")));
    for seconds in [0, 61, 70] {
        let used = vec![(KeyId(1), START.plus(Duration::from_secs(seconds)))];
        keys.expect_note_uses().once().with(eq(used)).returning(|_| Ok(()));
    }
    let (ring, clock) = ring(keys);
    ring.refresh().await.unwrap();
    ring.write_back_uses().await.unwrap(); // No key was used yet.
    let use_it = || assert_eq!(ring.check(&secret(1), FRESH), granted(1));
    use_it();
    assert!(ring.write_back_uses().await.is_err());
    ring.write_back_uses().await.unwrap(); // The first use is written at once.
    ring.write_back_uses().await.unwrap(); // It is not written twice.
    clock.advance(Duration::from_secs(59));
    use_it();
    ring.write_back_uses().await.unwrap(); // Too early.
    clock.advance(Duration::from_secs(2));
    use_it();
    ring.write_back_uses().await.unwrap();
    clock.advance(Duration::from_secs(9));
    use_it();
    is_revoked.store(true, Ordering::Relaxed);
    ring.refresh().await.unwrap();
    ring.write_back_uses().await.unwrap();
    ring.write_back_uses().await.unwrap();
    assert_eq!(clock.now(), START.plus(Duration::from_secs(70)));
}

#[tokio::test]
async fn uses_of_many_keys_are_written_in_several_calls() {
    let mut keys = MockKeyStore::new();
    keys.expect_load().returning(|_| Ok(Some((1..=250).map(stored).collect::<Vec<_>>().into())));
    let (sizes, saved) = (Arc::new(Mutex::new(Vec::new())), Arc::default());
    let (noted, ids): (_, Arc<Mutex<BTreeSet<KeyId>>>) = (Arc::clone(&sizes), Arc::clone(&saved));
    keys.expect_note_uses().returning(move |uses| {
        noted.lock().unwrap().push(uses.len());
        ids.lock().unwrap().extend(uses.into_iter().map(|(id, _)| id));
        Ok(())
    });
    let (ring, _clock) = ring(keys);
    ring.refresh().await.unwrap();
    for seed in 1..=250 {
        assert_eq!(ring.check(&secret(seed), FRESH), granted(seed));
    }
    ring.write_back_uses().await.unwrap();
    assert_eq!(*sizes.lock().unwrap(), [MAX_KEYS_PER_SAVE, MAX_KEYS_PER_SAVE, 50]);
    assert_eq!(saved.lock().unwrap().len(), 250);
}

#[tokio::test]
async fn refusals_of_revoked_keys_are_counted() {
    let revoked = ApiKey { revoked_at: Some(START), ..stored(2) };
    let (ring, _clock) = holding(vec![stored(1), revoked]).await;
    for seed in [1, 2, 2, 3] {
        ring.note_refusal(&secret(seed));
    }
    let taken: Vec<_> = ring.take_revoked_uses().iter().map(|used| (used.id, used.uses)).collect();
    assert_eq!(taken, [(KeyId(2), 2)]);
    assert_eq!(ring.take_revoked_uses(), []);
}
