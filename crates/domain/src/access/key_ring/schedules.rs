//! The key ring under schedules: requests, a clock that moves, and keys that are made and revoked meanwhile.

use std::sync::{
    Arc, Mutex,
    atomic::{AtomicUsize, Ordering},
};

use async_trait::async_trait;
use shuttle::{
    future::{block_on, spawn, yield_now},
    thread,
};

use super::{HARD_AGE, KeyRing, SOFT_AGE};
use crate::{
    ApiKey, ApiKeySecret, AuthenticationError, Authenticator, Caller, Clock, KeyId, KeyName,
    KeyRevision, KeyRights, KeyStore, ManualClock, NewApiKey, Saved, StoreError, StoredKeys,
    Timestamp, sync::schedules::explore,
};

const START: Timestamp = Timestamp(1_800_000_000_000);

fn secret(seed: u8) -> ApiKeySecret {
    ApiKeySecret::from_entropy(&[seed; 32])
}

/// A store whose reads of the live keys can be overtaken by everything else.
#[derive(Default)]
struct Store {
    live: Mutex<Live>,
    reads: AtomicUsize,
}

#[derive(Default)]
struct Live {
    /// The seeds of their secrets.
    keys: Vec<u8>,
    /// How often they were read. It is the name of every key, so that two reads can be told apart.
    generation: u64,
}

/// One read in flight.
struct Read<'s>(&'s Store);

impl Drop for Read<'_> {
    fn drop(&mut self) {
        self.0.reads.fetch_sub(1, Ordering::SeqCst);
    }
}

#[async_trait]
impl KeyStore for Store {
    async fn load(&self, _: Option<KeyRevision>) -> Result<Option<StoredKeys>, StoreError> {
        let before = self.reads.fetch_add(1, Ordering::SeqCst);
        let _read = Read(self);
        assert_eq!(before, 0, "two reads are in flight");
        yield_now().await;
        let keys: Vec<_> = {
            let mut live = self.live.lock().unwrap();
            live.generation += 1;
            let name = KeyName::parse(&format!("read-{}", live.generation)).unwrap();
            let key = |seed: &u8| {
                NewApiKey::new(name.clone(), &secret(*seed), START, None)
                    .with_id(KeyId(i64::from(*seed)))
            };
            live.keys.iter().map(key).collect()
        };
        for _ in 0..4 {
            yield_now().await;
        }
        Ok(Some(keys.into()))
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

/// What all threads of a schedule share.
struct Service {
    store: Arc<Store>,
    clock: Arc<ManualClock>,
    ring: KeyRing,
    /// When key 1 was revoked, and key 2 was made.
    changed_at: Mutex<Option<Timestamp>>,
}

impl Service {
    fn new() -> Arc<Self> {
        let (store, clock) = (Arc::<Store>::default(), Arc::new(ManualClock::new(START)));
        store.live.lock().unwrap().keys = vec![1, 3];
        let ring = KeyRing::new(store.clone(), clock.clone(), None);
        Arc::new(Self { store, clock, ring, changed_at: Mutex::new(None) })
    }

    fn change(&self) {
        self.store.live.lock().unwrap().keys = vec![2, 3];
        *self.changed_at.lock().unwrap() = Some(self.clock.now());
    }

    /// Presents key `seed`, and holds the answer against what was true when it was presented.
    async fn ask(&self, seed: u8) {
        let changed = *self.changed_at.lock().unwrap();
        let since = changed.and_then(|at| self.clock.now().since(at));
        let accepted = match self.ring.authenticate(&secret(seed)).await {
            Ok(_) => true,
            Err(AuthenticationError::Refused) => false,
            Err(AuthenticationError::Store(error)) => panic!("{error}"),
        };
        match seed {
            1 if since.is_some_and(|since| since >= HARD_AGE) => {
                assert!(!accepted, "a key was accepted a second after it was revoked");
            }
            2 if since.is_some_and(|since| since >= SOFT_AGE) => {
                assert!(accepted, "a key was refused half a second after it was made");
            }
            3 => assert!(accepted, "a key was refused that was live all the time"),
            _ => {}
        }
    }

    /// The number of the read that the ring answers by.
    fn generation(&self) -> u64 {
        let caller = Caller { digest: secret(3).digest(), rights: KeyRights::Full };
        let label = self.ring.key_label(&caller);
        label.map_or(0, |label| label.as_str()["read-".len()..].parse().unwrap())
    }
}

#[test]
fn keys_are_as_young_as_promised_whoever_reads_them() {
    explore(1000, || {
        let service = Service::new();
        let time = {
            let service = Arc::clone(&service);
            thread::spawn(move || {
                for step in 0..6 {
                    service.clock.advance(SOFT_AGE);
                    thread::yield_now();
                    if step == 1 {
                        service.change();
                    }
                }
            })
        };
        let requests = [1, 2, 3, 1].map(|seed| {
            let service = Arc::clone(&service);
            thread::spawn(move || {
                for _ in 0..4 {
                    let before = service.generation();
                    block_on(service.ask(seed));
                    assert!(service.generation() >= before, "an older read replaced a newer one");
                }
            })
        });
        time.join().unwrap();
        for request in requests {
            request.join().unwrap();
        }
    });
}

#[test]
fn requests_that_are_dropped_keep_no_other_from_its_answer() {
    explore(1000, || {
        let service = Service::new();
        let [first, second, third] = [3, 2, 3].map(|seed| {
            let service = Arc::clone(&service);
            spawn(async move { service.ask(seed).await })
        });
        thread::yield_now();
        first.abort();
        second.abort();
        block_on(third).unwrap();
    });
}
