//! The read of the keys: one in flight, whoever waits for it.

use std::{
    sync::{
        Arc,
        atomic::{AtomicUsize, Ordering},
    },
    time::Duration,
};

use async_trait::async_trait;
use tokio::{sync::Semaphore, time::timeout};

use super::{START, secret, stored, unavailable};
use crate::{
    ApiKey, AuthenticationError, Authenticator, KeyId, KeyRevision, KeyStore, ManualClock, Saved,
    StoreError, StoredKeys, Timestamp, access::key_ring::KeyRing,
};

/// Long enough for the slowest machine.
const LIMIT: Duration = Duration::from_secs(30);

/// A store whose reads of the live keys wait until the test lets them go on.
struct SlowStore {
    reads: AtomicUsize,
    go_on: Semaphore,
    fails: bool,
}

impl SlowStore {
    fn new(fails: bool) -> Arc<Self> {
        Arc::new(Self { reads: AtomicUsize::new(0), go_on: Semaphore::new(0), fails })
    }

    fn reads(&self) -> usize {
        self.reads.load(Ordering::Relaxed)
    }
}

#[async_trait]
impl KeyStore for SlowStore {
    async fn load(&self, _: Option<KeyRevision>) -> Result<Option<StoredKeys>, StoreError> {
        self.reads.fetch_add(1, Ordering::Relaxed);
        // A read that nobody lets go on is a fault of the ring: more of them than the test expects.
        let go_on = timeout(LIMIT, self.go_on.acquire()).await.expect("the test expects the read");
        go_on.unwrap().forget();
        if self.fails { Err(unavailable()) } else { Ok(Some(vec![stored(1)].into())) }
    }
    async fn save(
        &self,
        _: KeyRevision,
        _: Vec<ApiKey>,
        _: Vec<KeyId>,
    ) -> Result<Saved, StoreError> {
        unreachable!()
    }
    async fn note_uses(&self, _: Vec<(KeyId, Timestamp)>) -> Result<(), StoreError> {
        unreachable!()
    }
}

/// Lets every other task run until it waits.
async fn all_wait() {
    for _ in 0..1000 {
        tokio::task::yield_now().await;
    }
}

#[tokio::test]
async fn however_many_requests_wait_one_read_is_in_flight() {
    for fails in [false, true] {
        let store = SlowStore::new(fails);
        let clock = Arc::new(ManualClock::new(START));
        let ring = Arc::new(KeyRing::new(store.clone(), clock, None));
        let requests: Vec<_> = (0..100)
            .map(|number| {
                let ring = Arc::clone(&ring);
                // Half of them present a key that nobody has.
                tokio::spawn(async move { ring.authenticate(&secret(1 + number % 2)).await })
            })
            .collect();
        all_wait().await;
        assert_eq!(store.reads(), 1);
        store.go_on.add_permits(1);
        for (number, request) in requests.into_iter().enumerate() {
            let answer = request.await.unwrap();
            match (fails, number % 2) {
                (true, _) => {
                    let Err(AuthenticationError::Store(error)) = answer else {
                        panic!("{answer:?}")
                    };
                    assert_eq!(error.to_string(), "the store cannot answer: gone");
                }
                (false, 0) => assert!(answer.is_ok()),
                (false, _) => assert!(matches!(answer, Err(AuthenticationError::Refused))),
            }
        }
        assert_eq!(store.reads(), 1);
    }
}

#[tokio::test]
async fn a_read_that_began_a_second_before_a_request_does_not_answer_it() {
    let store = SlowStore::new(false);
    let clock = Arc::new(ManualClock::new(START));
    let ring = Arc::new(KeyRing::new(store.clone(), clock.clone(), None));
    let ask = || {
        let ring = Arc::clone(&ring);
        tokio::spawn(async move { ring.authenticate(&secret(1)).await.is_ok() })
    };
    let first = ask();
    all_wait().await;
    clock.advance(Duration::from_secs(1));
    let second = ask();
    all_wait().await;
    assert_eq!(store.reads(), 1);
    store.go_on.add_permits(1);
    assert!(first.await.unwrap());
    all_wait().await;
    assert_eq!(store.reads(), 2, "the key may have been revoked after the first read began");
    store.go_on.add_permits(1);
    assert!(second.await.unwrap());
}

#[tokio::test]
async fn while_the_keys_are_read_again_a_known_key_does_not_wait_and_an_unknown_one_does() {
    let store = SlowStore::new(false);
    let clock = Arc::new(ManualClock::new(START));
    let ring = Arc::new(KeyRing::new(store.clone(), clock.clone(), None));
    let ask = |seed| {
        let ring = Arc::clone(&ring);
        tokio::spawn(async move { ring.authenticate(&secret(seed)).await.is_ok() })
    };
    let first = ask(1);
    all_wait().await;
    clock.advance(Duration::from_millis(100)); // So long does the first read take.
    store.go_on.add_permits(1);
    assert!(first.await.unwrap());

    clock.advance(Duration::from_millis(500));
    let reads_again = ask(1);
    all_wait().await;
    assert_eq!(store.reads(), 2);
    let (known, unknown) = (ask(1), ask(2));
    all_wait().await;
    assert!(known.is_finished() && !unknown.is_finished() && !reads_again.is_finished());
    store.go_on.add_permits(1);
    assert!(known.await.unwrap() && reads_again.await.unwrap() && !unknown.await.unwrap());
    assert_eq!(store.reads(), 2);
}

#[tokio::test]
async fn a_read_goes_on_when_the_request_that_began_it_is_dropped() {
    let store = SlowStore::new(false);
    let ring = Arc::new(KeyRing::new(store.clone(), Arc::new(ManualClock::new(START)), None));
    let ask = || {
        let ring = Arc::clone(&ring);
        tokio::spawn(async move { ring.authenticate(&secret(1)).await.is_ok() })
    };
    let (first, second) = (ask(), ask());
    all_wait().await;
    first.abort();
    assert!(first.await.is_err());
    store.go_on.add_permits(1);
    assert!(second.await.unwrap());
    assert_eq!(store.reads(), 1);

    let third = ask();
    third.abort();
    assert!(ring.authenticate(&secret(1)).await.is_ok(), "the keys are young");
}
