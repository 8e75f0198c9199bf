use std::{
    sync::{Arc, Mutex},
    time::Duration,
};

use mockall::predicate::eq;

use super::KeyRing;
use crate::{
    ApiKey, ApiKeySecret, AuthenticationError, Caller, CorruptKey, KeyChanges, KeyId, KeyLabel,
    KeyMark, KeyRevision, KeyRights, MAX_KEYS_PER_SAVE, ManualClock, MockKeyStore, NamedKey,
    RevokedUse, ServiceKey, StoreError, StoredKeys, Timestamp,
    access::tests::{corrupt, key, name, secret},
};

const START: Timestamp = Timestamp(1_800_000_000_000);
const FRESH: Option<Duration> = Some(Duration::ZERO);

fn stored(seed: u8) -> ApiKey {
    key(seed, "web", None)
}

fn revoked(seed: u8) -> ApiKey {
    ApiKey { revoked_at: Some(START), ..stored(seed) }
}

fn web() -> KeyLabel {
    KeyLabel::Stored(name("web"))
}

fn ring(keys: MockKeyStore) -> (KeyRing, Arc<ManualClock>) {
    let clock = Arc::new(ManualClock::new(START));
    (KeyRing::new(Arc::new(keys), clock.clone(), None), clock)
}

/// Makes a ring and refreshes it with these keys.
async fn holding(keys: Vec<ApiKey>) -> (KeyRing, Arc<ManualClock>) {
    let mut store = MockKeyStore::new();
    store
        .expect_load_changes()
        .once()
        .returning(move |_| Ok(StoredKeys::from(keys.clone()).into()));
    let (ring, clock) = ring(store);
    ring.refresh().await.unwrap();
    (ring, clock)
}

/// Checks the key of `seed` after a fresh refresh. The error is the label of a refused key.
fn check(ring: &KeyRing, seed: u8) -> Result<Caller, Option<KeyLabel>> {
    ring.check(&secret(seed), FRESH).map_err(|error| match error {
        AuthenticationError::Refused(label) => label,
        AuthenticationError::Store(error) => panic!("{error}"),
    })
}

fn caller(seed: u8) -> Caller {
    Caller { digest: secret(seed).digest(), rights: KeyRights::Full }
}

#[tokio::test]
async fn a_key_is_checked_only_if_the_last_refresh_is_recent() {
    let (ring, _clock) = holding(vec![stored(1)]).await;
    for age in [FRESH, Some(Duration::from_secs(1))] {
        assert_eq!(ring.check(&secret(1), age).unwrap(), caller(1), "{age:?}");
        let refused = ring.check(&secret(2), age);
        assert!(matches!(refused, Err(AuthenticationError::Refused(None))), "{age:?}");
    }
    for age in [None, Some(Duration::from_nanos(1_000_000_001))] {
        for seed in [1, 2] {
            let stale = ring.check(&secret(seed), age);
            assert!(matches!(stale, Err(AuthenticationError::Store(_))), "{age:?}");
        }
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
            let refused = ring.check(&ApiKeySecret::new(text), age);
            assert!(matches!(refused, Err(AuthenticationError::Refused(None))), "{text:?}");
        }
    }
}

#[tokio::test]
async fn the_service_key_needs_no_store() {
    let key = "any-form,-but-visible-only";
    let keys = Arc::new(MockKeyStore::new()); // No call is expected.
    let clock = Arc::new(ManualClock::new(START));
    let ring = KeyRing::new(keys, clock, Some(ServiceKey::parse(key).unwrap()));
    let caller = ring.check(&ApiKeySecret::new(key), None).unwrap();
    assert_eq!(ring.key_label(&caller), Some(KeyLabel::Service));
    let other = ring.check(&ApiKeySecret::new("another-key-of-any-form"), None);
    assert!(matches!(other, Err(AuthenticationError::Refused(None))));
}

/// Returns changes up to the state `revision`: rows with their stamps, and the sum of all stamps.
fn changes(revision: u128, rows: &[(u8, u64)], sum: u64) -> KeyChanges {
    let mark = KeyMark { revision: KeyRevision(revision), position: 0 };
    let rows = rows.iter().map(|(seed, stamp)| (Ok(stored(*seed)), *stamp)).collect();
    KeyChanges { mark, rows, sum }
}

/// Returns a change of one key.
fn change(revision: u128, key: ApiKey, stamp: u64, sum: u64) -> KeyChanges {
    KeyChanges { rows: vec![(Ok(key), stamp)], ..changes(revision, &[], sum) }
}

#[tokio::test]
async fn all_keys_are_loaded_only_if_the_changes_are_incomplete() {
    /// The known revision, the answer, and the keys that are live then; `None` if the same refresh loads again.
    type Load = (Option<u128>, Result<KeyChanges, StoreError>, Option<&'static [u8]>);
    let rolled = ApiKey { digest: secret(4).digest(), ..stored(2) };
    let loads: [Load; 13] = [
        (None, Ok(changes(1, &[(1, 5), (2, 7)], 12)), Some(&[1, 2])),
        (Some(1), Ok(changes(1, &[], 0)), Some(&[1, 2])),
        (Some(1), Err(StoreError::unavailable("gone")), Some(&[1, 2])),
        (Some(1), Ok(changes(2, &[(3, 8)], 20)), Some(&[1, 2, 3])),
        (Some(2), Ok(change(3, revoked(1), 9, 24)), Some(&[2, 3])),
        (Some(3), Ok(change(4, rolled, 10, 27)), Some(&[3, 4])),
        // Key 3 was removed.
        (Some(4), Ok(changes(5, &[], 19)), None),
        (None, Ok(changes(6, &[(1, 9), (2, 10)], 19)), Some(&[1, 2])),
        // The store has another history: key 2 is older, and key 5 replaces key 1.
        (Some(6), Ok(changes(7, &[(5, 11)], 18)), None),
        (None, Err(StoreError::unavailable("gone")), Some(&[1, 2])),
        (Some(6), Ok(changes(7, &[(5, 11)], 18)), None),
        (None, Ok(changes(7, &[(2, 7), (5, 11)], 18)), Some(&[2, 5])),
        (Some(7), Ok(changes(8, &[], 0)), Some(&[])),
    ];
    let expected: Vec<_> =
        loads.iter().filter_map(|(_, answer, live)| Some((answer.is_err(), (*live)?))).collect();
    let mut loads = loads.into_iter();
    let mut keys = MockKeyStore::new();
    keys.expect_load_changes().times(13).returning(move |mark| {
        let (known, answer, _) = loads.next().unwrap();
        assert_eq!(mark.map(|mark| mark.revision.0), known);
        answer
    });
    let (ring, _clock) = ring(keys);
    for (step, (fails, live)) in expected.into_iter().enumerate() {
        assert_eq!(ring.refresh().await.is_err(), fails, "{step}");
        let is_granted = |seed: &u8| check(&ring, *seed) == Ok(caller(*seed));
        assert_eq!((1..=6).filter(is_granted).collect::<Vec<_>>(), live, "{step}");
    }
}

#[tokio::test]
async fn a_refusal_names_a_key_that_is_no_longer_live() {
    let expiry = START.plus(Duration::from_millis(50));
    let brief = key(3, "web", Some(expiry.0));
    let (mut ring, clock) = holding(vec![stored(1), revoked(2), brief]).await;
    ring.service_key = ServiceKey::parse("any-form,-but-visible-only").ok();
    let named = Err(Some(web()));
    assert_eq!(check(&ring, 2), named);
    clock.advance(Duration::from_millis(49));
    assert_eq!((check(&ring, 3), ring.live_keys()), (Ok(caller(3)), 2));
    let live = |label, expires_at| NamedKey { label, expires_at };
    let (first, last) = (live(web(), None), live(KeyLabel::Service, None));
    assert_eq!(ring.named_keys(), [first.clone(), live(web(), Some(expiry)), last.clone()]);
    clock.advance(Duration::from_millis(1));
    assert_eq!((check(&ring, 3), ring.live_keys()), (named, 1));
    assert_eq!(ring.named_keys(), [first, last]);
    assert_eq!((ring.key_label(&caller(1)), ring.key_label(&caller(9))), (Some(web()), None));
}

#[tokio::test]
async fn a_corrupt_key_is_refused_and_others_are_granted() {
    let mut keys = MockKeyStore::new();
    let mut found = changes(1, &[(2, 5)], 11);
    found.rows.push((Err(CorruptKey { id: None, ..corrupt(1, "web") }), 6));
    // The row is repaired, which changes its stamp and the revision.
    let mut loads = [found, change(2, stored(1), 7, 12)].into_iter();
    keys.expect_load_changes().times(2).returning(move |_| Ok(loads.next().unwrap()));
    let (ring, _clock) = ring(keys);
    ring.refresh().await.unwrap();
    assert_eq!(check(&ring, 2), Ok(caller(2)));
    assert_eq!(check(&ring, 1), Err(None));
    assert_eq!(ring.corruptions(), [corrupt(1, "web").corruption]);
    ring.refresh().await.unwrap();
    assert_eq!(check(&ring, 1), Ok(caller(1)));
    assert_eq!(ring.corruptions(), []);
}

#[tokio::test]
async fn uses_are_written_back_once_a_minute_and_when_a_key_ends() {
    let mut keys = MockKeyStore::new();
    // An earlier run has written a use.
    let used = ApiKey { last_used_at: Some(Timestamp(START.0 - 60_000)), ..stored(1) };
    let mut loads = [change(1, used, 5, 5), change(2, revoked(1), 6, 6)].into_iter();
    keys.expect_load_changes().times(2).returning(move |_| Ok(loads.next().unwrap()));
    keys.expect_note_uses().once().returning(|_| Err(StoreError::unavailable("gone")));
    for seconds in [0, 61, 70] {
        let used = vec![(KeyId(1), START.plus(Duration::from_secs(seconds)))];
        keys.expect_note_uses().once().with(eq(used)).returning(|_| Ok(()));
    }
    let (ring, clock) = ring(keys);
    ring.refresh().await.unwrap();
    ring.write_back_uses().await.unwrap(); // No key was used since.
    assert_eq!(check(&ring, 1), Ok(caller(1)));
    assert!(ring.write_back_uses().await.is_err());
    // The first use is written at once, the use after 59 seconds not yet, and no use twice.
    for seconds in [0, 59, 2] {
        clock.advance(Duration::from_secs(seconds));
        assert_eq!(check(&ring, 1), Ok(caller(1)));
        ring.write_back_uses().await.unwrap();
        ring.write_back_uses().await.unwrap();
    }
    clock.advance(Duration::from_secs(9));
    assert_eq!(check(&ring, 1), Ok(caller(1)));
    ring.refresh().await.unwrap();
    ring.write_back_uses().await.unwrap();
    // A refusal is no use.
    clock.advance(Duration::from_secs(9));
    assert_eq!(check(&ring, 1), Err(Some(web())));
    ring.write_back_uses().await.unwrap();
}

#[tokio::test]
async fn uses_of_many_keys_are_written_in_several_calls() {
    let mut keys = MockKeyStore::new();
    let all = StoredKeys::from((1..=250).map(stored).collect::<Vec<_>>());
    keys.expect_load_changes().once().return_once(|_| Ok(all.into()));
    let noted = Arc::new(Mutex::new(Vec::new()));
    let calls = Arc::clone(&noted);
    keys.expect_note_uses().returning(move |uses| {
        calls.lock().unwrap().push(uses);
        Ok(())
    });
    let (ring, _clock) = ring(keys);
    ring.refresh().await.unwrap();
    for seed in 1..=250 {
        assert_eq!(check(&ring, seed), Ok(caller(seed)));
    }
    ring.write_back_uses().await.unwrap();
    let noted = noted.lock().unwrap();
    let sizes: Vec<_> = noted.iter().map(Vec::len).collect();
    assert_eq!(sizes, [MAX_KEYS_PER_SAVE, MAX_KEYS_PER_SAVE, 50]);
}

#[tokio::test]
async fn refusals_of_revoked_keys_are_counted() {
    let expired = key(3, "web", Some(START.0));
    let (ring, _clock) = holding(vec![stored(1), revoked(2), expired]).await;
    for seed in [1, 2, 2, 3, 4] {
        ring.note_refusal(&secret(seed));
    }
    let taken = RevokedUse { id: KeyId(2), name: name("web"), uses: 2 };
    assert_eq!(ring.take_revoked_uses(), [taken]);
    assert_eq!(ring.take_revoked_uses(), []);
}
