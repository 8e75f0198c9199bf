use std::{
    sync::{
        Arc, Mutex,
        atomic::{AtomicUsize, Ordering},
    },
    time::Duration,
};

use async_trait::async_trait;
use futures_util::future::join_all;
use petstore_domain::{
    ApiKey, ApiKeySecret, AuthenticationError, Authenticator, KeyId, KeyName, KeyRevision, KeyRing,
    KeyStore, ManualClock, NewApiKey, SaveOutcome, StoreError, StoredKeys, Timestamp,
};
use tokio::{
    task,
    time::{Instant, sleep, timeout},
};

use super::KeyRingAuthenticator;

const MILLI: Duration = Duration::from_millis(1);

fn secret(seed: u8) -> ApiKeySecret {
    ApiKeySecret::from_entropy(&[seed; 32])
}

fn key(seed: u8) -> ApiKey {
    let name = KeyName::parse("web").unwrap();
    NewApiKey::new(name, &secret(seed), Timestamp(0), None).with_id(KeyId(seed.into()))
}

/// A store whose loads take a given time and fail on demand. A load returns the keys of the time at which it began.
#[derive(Default)]
struct Slow {
    keys: Mutex<Vec<ApiKey>>,
    takes: Mutex<Duration>,
    fails: Mutex<Option<StoreError>>,
    loads: AtomicUsize,
}

#[async_trait]
impl KeyStore for Slow {
    async fn load(&self, _: Option<KeyRevision>) -> Result<Option<StoredKeys>, StoreError> {
        // Each load returns another revision, like a store whose keys have changed.
        let revision = KeyRevision(self.loads.fetch_add(1, Ordering::SeqCst) as u128);
        let (keys, takes) = (self.keys.lock().unwrap().clone(), *self.takes.lock().unwrap());
        let fails = self.fails.lock().unwrap().clone();
        sleep(takes).await;
        let stored = StoredKeys { revision, ..keys.into() };
        fails.map_or(Ok(Some(stored)), Err)
    }

    async fn save(
        &self,
        _: KeyRevision,
        _: Vec<ApiKey>,
        _: Vec<KeyId>,
    ) -> Result<SaveOutcome, StoreError> {
        unreachable!()
    }

    async fn note_uses(&self, _: Vec<(KeyId, Timestamp)>) -> Result<(), StoreError> {
        unreachable!()
    }
}

/// An authenticator with its refresh task, over a store with key 1 whose loads take `takes`.
fn service(takes: Duration) -> (Arc<Slow>, Arc<KeyRingAuthenticator>) {
    petstore_testing::limit_time();
    let store = Arc::new(Slow::default());
    *store.keys.lock().unwrap() = vec![key(1)];
    *store.takes.lock().unwrap() = takes;
    let clock = Arc::new(ManualClock::new(Timestamp(0)));
    let ring = Arc::new(KeyRing::new(store.clone(), clock, None));
    let service = Arc::new(KeyRingAuthenticator::new(ring));
    let refreshing = Arc::clone(&service);
    task::spawn(async move { match refreshing.keep_fresh().await {} });
    (store, service)
}

/// Returns whether a check accepts the key of `seed`; `None` if the keys could not be read.
async fn grants(service: &KeyRingAuthenticator, seed: u8) -> Option<bool> {
    match service.authenticate(&secret(seed)).await {
        Ok(_) => Some(true),
        Err(AuthenticationError::Refused(_)) => Some(false),
        Err(AuthenticationError::Store(_)) => None,
    }
}

#[tokio::test(start_paused = true)]
async fn keys_are_read_twice_a_second_only_while_requests_arrive() {
    let (store, service) = service(10 * MILLI);
    sleep(Duration::from_mins(1)).await;
    assert_eq!(store.loads.load(Ordering::SeqCst), 0);
    let began = Instant::now();
    while began.elapsed() < Duration::from_secs(10) {
        assert_eq!(grants(&service, 1).await, Some(true));
        // Refused requests cause no further reads.
        assert_eq!(grants(&service, 2).await, Some(false));
        sleep(7 * MILLI).await;
    }
    let loads = store.loads.load(Ordering::SeqCst);
    assert!((20..=21).contains(&loads), "{loads}");
    sleep(Duration::from_mins(1)).await;
    assert!(store.loads.load(Ordering::SeqCst) <= loads + 1);
    // The first request after a rest waits for fresh keys.
    store.keys.lock().unwrap().clear();
    assert_eq!(grants(&service, 1).await, Some(false));
}

#[tokio::test(start_paused = true)]
async fn a_new_key_is_granted_by_the_first_refresh_that_begins_after_its_request() {
    for takes in [0, 10, 300] {
        let (store, service) = service(takes * MILLI);
        assert_eq!(grants(&service, 1).await, Some(true));
        // Adds a key at many moments of a refresh and of the pause after the refresh.
        for wait in (0..700).step_by(23) {
            let seed = u8::try_from(2 + wait / 23).unwrap();
            let _ = grants(&service, 1).await;
            sleep(u32::try_from(wait).unwrap() * MILLI).await;
            store.keys.lock().unwrap().push(key(seed));
            let began = Instant::now();
            if grants(&service, seed).await == Some(false) {
                let secret = secret(seed);
                let granted = timeout(Duration::from_mins(1), service.authenticate_again(&secret));
                granted.await.expect("the keys are read again").unwrap();
            }
            let took = began.elapsed();
            assert!(took <= (502 + 2 * takes) * MILLI, "after {wait}: {took:?}");
        }
    }
}

#[tokio::test(start_paused = true)]
async fn all_refused_keys_wait_equally_and_uses_of_revoked_keys_are_counted() {
    let (store, service) = service(10 * MILLI);
    let revoked = ApiKey { revoked_at: Some(Timestamp(0)), ..key(2) };
    let expired = ApiKey { expires_at: Some(Timestamp(0)), ..key(3) };
    store.keys.lock().unwrap().extend([revoked, expired]);
    assert_eq!(grants(&service, 1).await, Some(true));
    let began = Instant::now();
    let again = [9, 2, 3].map(|seed| {
        let service = Arc::clone(&service);
        async move {
            assert_eq!(grants(&service, seed).await, Some(false));
            let refused = service.authenticate_again(&secret(seed)).await;
            assert!(matches!(refused, Err(AuthenticationError::Refused(_))), "{refused:?}");
            began.elapsed()
        }
    });
    let times = join_all(again).await;
    assert!(times.iter().all(|time| *time == times[0] && *time > 400 * MILLI), "{times:?}");
    let used = service.ring.take_revoked_uses();
    assert_eq!(used.iter().map(|used| (used.id.0, used.uses)).collect::<Vec<_>>(), [(2, 1)]);
    // A malformed key is refused at once.
    let malformed = service.authenticate_again(&ApiKeySecret::new("of-another-form")).await;
    assert!(matches!(malformed, Err(AuthenticationError::Refused(None))));
}

#[tokio::test(start_paused = true)]
async fn keys_stay_valid_for_a_second_while_the_store_fails_and_then_requests_fail() {
    let (store, service) = service(MILLI);
    assert_eq!(grants(&service, 1).await, Some(true));
    *store.fails.lock().unwrap() = Some(StoreError::unavailable("gone"));
    let began = Instant::now();
    while began.elapsed() < 990 * MILLI {
        assert_eq!(grants(&service, 1).await, Some(true));
        sleep(10 * MILLI).await;
    }
    // Failed reads are as rare as other reads.
    assert_eq!(store.loads.load(Ordering::SeqCst), 2);
    let unknown = service.authenticate_again(&secret(2)).await;
    assert!(matches!(unknown, Err(AuthenticationError::Store(_))), "{unknown:?}");
    sleep(20 * MILLI).await;
    assert_eq!(grants(&service, 1).await, None);
    *store.fails.lock().unwrap() = None;
    sleep(600 * MILLI).await;
    let _ = grants(&service, 1).await;
    assert_eq!(grants(&service, 1).await, Some(true));
}

#[tokio::test(start_paused = true)]
async fn a_request_waits_for_a_slow_store_for_a_second() {
    let (store, service) = service(900 * MILLI);
    assert_eq!(grants(&service, 1).await, Some(true), "the request waits for a slow read");
    *store.takes.lock().unwrap() = Duration::from_mins(1);
    // The age of the keys counts from the start of their read.
    sleep(90 * MILLI).await;
    assert_eq!(grants(&service, 1).await, Some(true));
    sleep(20 * MILLI).await;
    let began = Instant::now();
    assert_eq!(grants(&service, 1).await, None);
    assert!((1000 * MILLI..1003 * MILLI).contains(&began.elapsed()), "{:?}", began.elapsed());
}

#[tokio::test(start_paused = true)]
async fn a_request_fails_with_the_error_of_the_store() {
    let (store, service) = service(MILLI);
    *store.fails.lock().unwrap() = Some(StoreError::sealed("was handed over"));
    let outcomes = async {
        [
            service.authenticate(&secret(1)).await,
            service.authenticate_again(&secret(1)).await,
            service.live_keys().await.map(|_| unreachable!()).map_err(Into::into),
        ]
    };
    for outcome in timeout(Duration::from_hours(1), outcomes).await.unwrap() {
        let Err(AuthenticationError::Store(error)) = outcome else { panic!("{outcome:?}") };
        assert_eq!(error.to_string(), "the store was handed over");
    }
}
