mod one_read;

use std::{sync::Arc, time::Duration};

use mockall::predicate::eq;

use super::KeyRing;
use crate::{
    ApiKey, ApiKeySecret, AuthenticationError, Authenticator, Caller, Clock, CorruptKey,
    Corruption, KeyId, KeyLabel, KeyName, KeyRights, ManualClock, MockKeyStore, NewApiKey,
    ServiceKey, StoreError, StoredKeys, Timestamp,
};

const START: Timestamp = Timestamp(1_800_000_000_000);

fn secret(seed: u8) -> ApiKeySecret {
    ApiKeySecret::from_entropy(&[seed; 32])
}

fn stored(seed: u8) -> ApiKey {
    NewApiKey::new(KeyName::parse("web").unwrap(), &secret(seed), START, None)
        .with_id(KeyId(i64::from(seed)))
}

fn ring(keys: MockKeyStore) -> (KeyRing, Arc<ManualClock>) {
    let clock = Arc::new(ManualClock::new(START));
    (KeyRing::new(Arc::new(keys), clock.clone(), None), clock)
}

async fn admits(ring: &KeyRing, seed: u8) -> bool {
    match ring.authenticate(&secret(seed)).await {
        Ok(caller) => {
            assert_eq!(caller.digest, secret(seed).digest());
            true
        }
        Err(AuthenticationError::Refused) => false,
        Err(AuthenticationError::Store(error)) => panic!("{error}"),
    }
}

fn unavailable() -> StoreError {
    StoreError::unavailable("gone")
}

#[tokio::test]
async fn a_key_with_a_wrong_check_sum_never_reaches_the_store() {
    let (ring, _clock) = ring(MockKeyStore::new()); // No call is expected.
    let mut wrong = secret(1).expose().to_owned();
    wrong.replace_range(4..5, if wrong.as_bytes()[4] == b'0' { "1" } else { "0" });
    for text in [wrong.as_str(), "", "pst_", "a-key-of-another-form"] {
        let refusal = ring.authenticate(&ApiKeySecret::new(text)).await;
        assert!(matches!(refusal, Err(AuthenticationError::Refused)), "{text:?}");
    }
}

#[tokio::test]
async fn a_key_with_a_wrong_check_sum_is_refused_even_if_the_store_has_it() {
    let malformed = ApiKeySecret::new("a-key-of-another-form");
    let held = ApiKey { digest: malformed.digest(), ..stored(1) };
    let mut keys = MockKeyStore::new();
    keys.expect_load().once().returning(move |_| Ok(Some(vec![held.clone(), stored(2)].into())));
    let (ring, _clock) = ring(keys);
    assert!(admits(&ring, 2).await);
    let refusal = ring.authenticate(&malformed).await;
    assert!(matches!(refusal, Err(AuthenticationError::Refused)));
}

#[tokio::test]
async fn the_service_key_needs_no_store() {
    let key = "any form, no: visible only".replace(' ', "-");
    let keys = Arc::new(MockKeyStore::new()); // No call is expected.
    let clock = Arc::new(ManualClock::new(START));
    let ring = KeyRing::new(keys, clock, Some(ServiceKey::parse(&key).unwrap()));
    let caller = ring.authenticate(&ApiKeySecret::new(key)).await.unwrap();
    assert_eq!(ring.key_label(&caller), Some(KeyLabel::Service));
    let other = ApiKeySecret::new("another-key-of-any-form");
    assert!(matches!(ring.authenticate(&other).await, Err(AuthenticationError::Refused)));
}

#[tokio::test]
async fn keys_are_read_again_only_when_they_are_old() {
    let mut keys = MockKeyStore::new();
    keys.expect_load().times(2).returning(|_| Ok(Some(vec![stored(1)].into())));
    let (ring, clock) = ring(keys);
    for _ in 0..5 {
        assert!(admits(&ring, 1).await);
        clock.advance(Duration::from_millis(99)); // 495 ms in all
    }
    clock.advance(Duration::from_millis(5));
    assert!(admits(&ring, 1).await);
}

#[tokio::test]
async fn a_revoked_key_is_refused_within_a_second() {
    let mut keys = MockKeyStore::new();
    keys.expect_load().once().returning(|_| Ok(Some(vec![stored(1), stored(2)].into())));
    keys.expect_load().returning(|_| Ok(Some(vec![stored(2)].into())));
    let (ring, clock) = ring(keys);
    assert!(admits(&ring, 1).await);
    clock.advance(Duration::from_millis(999));
    assert!(!admits(&ring, 1).await);
    assert!(admits(&ring, 2).await);
}

#[tokio::test]
async fn a_corrupt_key_is_refused_and_costs_no_other() {
    let corruption = Corruption::new("API key 1", "a digest has 32 bytes");
    let mut keys = MockKeyStore::new();
    let corrupt = CorruptKey { id: Some(KeyId(1)), name: None, corruption: corruption.clone() };
    let found = StoredKeys { corrupt: vec![corrupt], ..vec![stored(2)].into() };
    keys.expect_load().once().returning(move |_| Ok(Some(found.clone())));
    keys.expect_load().returning(|_| Ok(Some(vec![stored(1), stored(2)].into())));
    let (ring, clock) = ring(keys);
    assert_eq!(ring.corruptions(), []);
    assert!(admits(&ring, 2).await && !admits(&ring, 1).await);
    assert_eq!(ring.corruptions(), [corruption]);
    clock.advance(Duration::from_secs(1));
    assert!(admits(&ring, 2).await && admits(&ring, 1).await);
    assert_eq!(ring.corruptions(), []);
}

#[tokio::test]
async fn a_new_key_is_found_as_soon_as_the_keys_are_a_tenth_of_a_second_old() {
    let mut keys = MockKeyStore::new();
    keys.expect_load().once().returning(|_| Ok(Some(vec![].into())));
    keys.expect_load().once().returning(|_| Ok(Some(vec![stored(1)].into())));
    let (ring, clock) = ring(keys);
    assert!(!admits(&ring, 1).await);
    clock.advance(Duration::from_millis(99));
    assert!(!admits(&ring, 1).await, "an unknown key must not make every request read the store");
    clock.advance(Duration::from_millis(1));
    assert!(admits(&ring, 1).await);
}

#[tokio::test]
async fn a_key_expires_at_its_expiry_between_two_reloads() {
    let mut keys = MockKeyStore::new();
    keys.expect_load().once().returning(|_| {
        Ok(Some(
            vec![ApiKey { expires_at: Some(START.plus(Duration::from_millis(50))), ..stored(1) }]
                .into(),
        ))
    });
    let (ring, clock) = ring(keys);
    clock.advance(Duration::from_millis(49));
    assert!(admits(&ring, 1).await);
    clock.advance(Duration::from_millis(1));
    assert!(!admits(&ring, 1).await);
}

#[tokio::test]
async fn keys_are_used_for_a_second_while_the_store_fails_and_then_it_is_an_error() {
    let mut keys = MockKeyStore::new();
    keys.expect_load().once().returning(|_| Ok(Some(vec![stored(1)].into())));
    keys.expect_load().returning(|_| Err(unavailable()));
    let (ring, clock) = ring(keys);
    assert!(admits(&ring, 1).await);
    clock.advance(Duration::from_millis(999));
    assert!(admits(&ring, 1).await);
    clock.advance(Duration::from_millis(1));
    let refusal = ring.authenticate(&secret(1)).await;
    assert!(matches!(refusal, Err(AuthenticationError::Store(StoreError::Unavailable(_)))));
}

#[tokio::test]
async fn keys_that_grow_too_old_while_the_store_fails_are_not_trusted() {
    let clock = Arc::new(ManualClock::new(START));
    let slow = clock.clone();
    let mut keys = MockKeyStore::new();
    keys.expect_load().once().returning(|_| Ok(Some(vec![stored(1)].into())));
    keys.expect_load().once().returning(move |_| {
        slow.advance(Duration::from_secs(5));
        Err(unavailable())
    });
    let ring = KeyRing::new(Arc::new(keys), clock.clone(), None);
    assert!(admits(&ring, 1).await);
    clock.advance(Duration::from_millis(600));
    let refusal = ring.authenticate(&secret(1)).await;
    assert!(matches!(refusal, Err(AuthenticationError::Store(StoreError::Unavailable(_)))));
}

#[tokio::test]
async fn after_the_clock_is_set_back_the_keys_are_read_again() {
    let mut keys = MockKeyStore::new();
    keys.expect_load().once().returning(|_| Ok(Some(vec![stored(1)].into())));
    keys.expect_load().once().returning(|_| Ok(Some(vec![].into())));
    let (ring, clock) = ring(keys);
    assert!(admits(&ring, 1).await);
    clock.set(START.minus(Duration::from_hours(1)));
    assert!(!admits(&ring, 1).await);
}

#[tokio::test]
async fn uses_are_written_back_once_a_minute() {
    let mut keys = MockKeyStore::new();
    keys.expect_load().returning(|_| Ok(Some(vec![stored(1), stored(2)].into())));
    for at in [START, START.plus(Duration::from_secs(61))] {
        keys.expect_note_uses().once().with(eq(vec![(KeyId(1), at)])).returning(|_| Ok(()));
    }
    let (ring, clock) = ring(keys);
    ring.write_back_uses().await.unwrap(); // Nothing was used yet.
    admits(&ring, 1).await;
    ring.write_back_uses().await.unwrap(); // The first use is written at once.
    ring.write_back_uses().await.unwrap(); // It is not written twice.
    clock.advance(Duration::from_secs(59));
    admits(&ring, 1).await;
    ring.write_back_uses().await.unwrap(); // Too early.
    clock.advance(Duration::from_secs(2));
    admits(&ring, 1).await;
    ring.write_back_uses().await.unwrap();
    assert_eq!(clock.now(), START.plus(Duration::from_secs(61)));
}

#[tokio::test]
async fn a_use_that_could_not_be_written_is_written_later() {
    let mut keys = MockKeyStore::new();
    keys.expect_load().returning(|_| Ok(Some(vec![stored(1)].into())));
    keys.expect_note_uses().once().returning(|_| Err(StoreError::unavailable("gone")));
    keys.expect_note_uses().once().returning(|_| Ok(()));
    let (ring, _clock) = ring(keys);
    admits(&ring, 1).await;
    assert!(ring.write_back_uses().await.is_err());
    ring.write_back_uses().await.unwrap();
    ring.write_back_uses().await.unwrap();
}

#[tokio::test]
async fn unknown_keys_spend_a_tenth_of_the_time_on_reading() {
    let clock = Arc::new(ManualClock::new(START));
    let slow = clock.clone();
    let mut keys = MockKeyStore::new();
    keys.expect_load().times(2).returning(move |_| {
        slow.advance(Duration::from_millis(30));
        Ok(Some(vec![stored(1)].into()))
    });
    let ring = KeyRing::new(Arc::new(keys), clock.clone(), None);
    for _ in 0..4 {
        assert!(!admits(&ring, 2).await);
        clock.advance(Duration::from_millis(90)); // 300 ms after the read began, it may be repeated.
    }
    assert!(!admits(&ring, 2).await);
}

#[tokio::test]
async fn a_failing_store_does_not_make_unknown_keys_a_failure() {
    let mut keys = MockKeyStore::new();
    keys.expect_load().once().returning(|_| Ok(Some(vec![stored(1)].into())));
    keys.expect_load().returning(|_| Err(unavailable()));
    let (ring, clock) = ring(keys);
    assert!(admits(&ring, 1).await);
    clock.advance(Duration::from_millis(400));
    assert!(!admits(&ring, 2).await);
}

#[tokio::test]
async fn the_last_use_of_a_key_is_written_after_its_end() {
    let mut keys = MockKeyStore::new();
    keys.expect_load().once().returning(|_| Ok(Some(vec![stored(1), stored(2)].into())));
    keys.expect_load().returning(|_| Ok(Some(vec![stored(2)].into())));
    keys.expect_note_uses().once().with(eq(vec![(KeyId(1), START)])).returning(|_| Ok(()));
    let (ring, clock) = ring(keys);
    assert!(admits(&ring, 1).await);
    clock.advance(Duration::from_millis(600));
    assert!(!admits(&ring, 1).await, "it was revoked");
    clock.advance(Duration::from_millis(600));
    assert!(!admits(&ring, 1).await); // The keys are read once more before the use is written.
    ring.write_back_uses().await.unwrap();
    clock.advance(Duration::from_millis(600));
    assert!(!admits(&ring, 1).await);
    ring.write_back_uses().await.unwrap(); // It is not written twice.
}

#[tokio::test]
async fn live_keys_are_counted_without_those_that_have_expired_since_they_were_read() {
    let brief = ApiKey { expires_at: Some(START.plus(Duration::from_millis(100))), ..stored(2) };
    let mut keys = MockKeyStore::new();
    keys.expect_load().once().returning(move |_| Ok(Some(vec![stored(1), brief.clone()].into())));
    let (ring, clock) = ring(keys);
    assert_eq!(ring.live_keys().await.unwrap(), 2);
    clock.advance(Duration::from_millis(100));
    assert_eq!(ring.live_keys().await.unwrap(), 1);
}

#[tokio::test]
async fn the_name_of_a_caller_is_that_of_its_key() {
    let mut keys = MockKeyStore::new();
    keys.expect_load().returning(|_| Ok(Some(vec![stored(1)].into())));
    let (ring, _clock) = ring(keys);
    let caller = ring.authenticate(&secret(1)).await.unwrap();
    assert_eq!(ring.key_label(&caller), KeyName::parse("web").ok().map(KeyLabel::Stored));
    let unknown = Caller { digest: secret(2).digest(), rights: KeyRights::Full };
    assert_eq!(ring.key_label(&unknown), None);
}
