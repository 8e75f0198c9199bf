use std::{
    collections::HashSet,
    sync::{
        Arc, Mutex,
        atomic::{AtomicU64, AtomicUsize, Ordering},
    },
    time::Duration,
};

use async_trait::async_trait;
use petstore_domain::{
    AddError, Added, ApiKeySecret, Catalogue, CatalogueVersion, Clock as _, Corruption,
    IdempotencyRequest, KeyChanges, KeyId, KeyName, KeyRing, ManualClock, MockKeyStore, NewApiKey,
    NewPet, Pet, PetId, PetPage, PetQuery, PetRepository, Purged, StoreError, StoredKeys,
    Timestamp, Versioned,
};
use tokio::{
    task::JoinHandle,
    time::{self, Instant},
};

use super::{PURGE_EVERY, finish, run, take_new};
use crate::{serve::tls::tests::record_events, system::SystemClock};

/// A repository of expired records. Keeps the time at which each batch began.
struct Purges {
    /// The time that a batch takes, in milliseconds, and its result: full, not full, or a failure.
    batch: fn(usize) -> (u64, Result<bool, StoreError>),
    began: Mutex<Vec<Instant>>,
}

#[async_trait]
impl PetRepository for Purges {
    async fn add(&self, _: NewPet, _: Option<IdempotencyRequest>) -> Result<Added, AddError> {
        unreachable!()
    }

    async fn find(&self, _: PetId) -> Result<Versioned<Option<Pet>>, StoreError> {
        unreachable!()
    }

    async fn list(&self, _: PetQuery) -> Result<Versioned<PetPage>, StoreError> {
        unreachable!()
    }

    async fn purge_expired(&self, _: Timestamp, limit: u32) -> Result<Purged, StoreError> {
        let number = self.began.lock().unwrap().len();
        self.began.lock().unwrap().push(Instant::now());
        let (millis, is_full) = (self.batch)(number);
        time::sleep(Duration::from_millis(millis)).await;
        Ok(Purged::up_to(limit, limit - u32::from(!is_full?)))
    }

    fn version(&self) -> Option<CatalogueVersion> {
        None
    }
}

fn gone() -> StoreError {
    StoreError::unavailable("gone")
}

/// Running housekeeping.
struct House {
    pets: Arc<Purges>,
    /// The number of times that key uses were stored.
    noted: Arc<AtomicUsize>,
    /// The number of times that the keys were loaded.
    loaded: Arc<AtomicUsize>,
    /// The number of counted uses of revoked keys.
    refused: Arc<AtomicU64>,
    ring: Arc<KeyRing>,
    task: JoinHandle<()>,
}

impl House {
    /// Returns the number of purge batches.
    fn purged(&self) -> usize {
        self.pets.began.lock().unwrap().len()
    }

    /// Aborts the task and stores the pending key uses, as a service does when it stops.
    async fn stop(&self) {
        self.task.abort();
        finish(&self.ring).await;
    }
}

/// Starts housekeeping. If the first batch of a purge fails, calls for keys fail too.
fn house(batch: fn(usize) -> (u64, Result<bool, StoreError>)) -> House {
    let pets = Arc::new(Purges { batch, began: Mutex::default() });
    let fails = batch(0).1.is_err();
    let [noted, loaded] = [(); 2].map(|()| Arc::<AtomicUsize>::default());
    let (note, listed) = (noted.clone(), loaded.clone());
    let mut keys = MockKeyStore::new();
    let [web, mut old] = [("web", 1), ("old", 2)].map(|(name, id)| {
        let (name, secret) = (KeyName::parse(name).unwrap(), ApiKeySecret::from_entropy(&[id; 32]));
        let end = SystemClock.now().plus(Duration::from_hours(24));
        NewApiKey::new(name, &secret, Timestamp(0), Some(end)).with_id(KeyId(id.into()))
    });
    old.revoked_at = Some(Timestamp(0));
    let stored = StoredKeys::from(vec![web, old]);
    let changes = KeyChanges::from(stored.clone());
    keys.expect_load_changes().returning(move |_| Ok(changes.clone()));
    keys.expect_load().returning(move |_| {
        listed.fetch_add(1, Ordering::Relaxed);
        if fails { Err(gone()) } else { Ok(Some(stored.clone())) }
    });
    keys.expect_note_uses().returning(move |_| {
        note.fetch_add(1, Ordering::Relaxed);
        if fails { Err(gone()) } else { Ok(()) }
    });
    let clock = Arc::new(ManualClock::new(Timestamp(0)));
    let keys = Arc::new(keys);
    let ring = Arc::new(KeyRing::new(keys.clone(), clock.clone(), None));
    let catalogue = Arc::new(Catalogue::new(pets.clone(), clock));
    let refused = Arc::<AtomicU64>::default();
    let counted = refused.clone();
    let count = move |name: &KeyName, uses| {
        assert_eq!(name.as_str(), "old");
        counted.fetch_add(uses, Ordering::Relaxed);
    };
    let task = tokio::spawn(run(ring.clone(), keys, catalogue, Arc::new(count)));
    House { pets, noted, loaded, refused, ring, task }
}

#[tokio::test(start_paused = true)]
async fn expiring_keys_are_searched_at_the_start_and_once_a_day() {
    let (log, _guard) = record_events();
    let house = house(|_| (0, Ok(false)));
    time::sleep(Duration::from_secs(1)).await;
    assert_eq!(house.loaded.load(Ordering::Relaxed), 1);
    let says = "replace it with 'petstore keys roll' id=1 name=\"web\" expires_at=\"20";
    assert_eq!(log.take(says), 1);
    time::sleep(Duration::from_hours(24)).await;
    assert_eq!(house.loaded.load(Ordering::Relaxed), 2);
    house.stop().await;
}

async fn use_key(ring: &KeyRing) {
    ring.refresh().await.unwrap();
    let checked = ring.check(&ApiKeySecret::from_entropy(&[1; 32]), Some(Duration::ZERO));
    assert!(checked.is_ok());
}

#[tokio::test(start_paused = true)]
async fn each_use_of_a_revoked_key_is_counted_and_the_log_names_the_key_once_a_minute() {
    let (log, _guard) = record_events();
    let house = house(|_| (0, Ok(false)));
    house.ring.refresh().await.unwrap();
    time::sleep(Duration::from_secs(1)).await;
    for uses in 1..=15 {
        if uses == 14 {
            // A pause shortens no later minute.
            time::sleep(Duration::from_mins(10)).await;
        }
        house.ring.note_refusal(&ApiKeySecret::from_entropy(&[2; 32]));
        time::sleep(Duration::from_secs(5)).await;
        assert_eq!(house.refused.load(Ordering::Relaxed), uses);
        // The second line has the uses of a minute.
        let since = if uses == 13 { 12 } else { 1 };
        let line = format!("presented, and refused id=2 name=\"old\" uses={since}\n");
        let logged = log.text().matches(&line).count();
        assert_eq!(log.take("presented"), logged, "{uses}");
        assert_eq!(logged, usize::from([1, 13, 14].contains(&uses)), "{uses}");
    }
}

#[tokio::test(start_paused = true)]
async fn a_failing_store_is_tried_again_in_the_next_round() {
    let house = house(|_| (0, Err(gone())));
    use_key(&house.ring).await;
    time::sleep(Duration::from_secs(121)).await;
    assert_eq!(house.noted.load(Ordering::Relaxed), 24);
    assert_eq!(house.purged(), 2);
    // The search for keys that expire soon does not wait for the next day.
    assert_eq!(house.loaded.load(Ordering::Relaxed), 3);
    house.stop().await;
}

#[tokio::test(start_paused = true)]
async fn expired_records_are_purged_every_minute_until_none_is_left() {
    let house = house(|number| (0, Ok(number < 500)));
    time::sleep(Duration::from_secs(59)).await;
    assert_eq!(house.purged(), 0);
    time::sleep(Duration::from_secs(30)).await;
    assert_eq!(house.purged(), 501);
    time::sleep(Duration::from_mins(1)).await;
    assert_eq!(house.purged(), 502);
    house.stop().await;
}

#[tokio::test(start_paused = true)]
async fn uses_are_noted_during_a_purge_and_a_stop_ends_it_at_once() {
    let house = house(|_| (0, Ok(true)));
    time::sleep(Duration::from_secs(61)).await;
    assert!(house.purged() > 500);
    use_key(&house.ring).await;
    time::sleep(Duration::from_secs(5)).await;
    assert_eq!(house.noted.load(Ordering::Relaxed), 1);

    let stopping = Instant::now();
    let purged = house.purged();
    house.stop().await;
    assert!(stopping.elapsed() < Duration::from_millis(10), "{:?}", stopping.elapsed());
    assert!(house.purged() <= purged + 1);
}

#[tokio::test(start_paused = true)]
async fn a_purge_pauses_after_each_batch_for_as_long_as_it_took() {
    let first = Instant::now() + PURGE_EVERY;
    let house = house(|number| (if number < 2 { 20 } else { 30 }, Ok(number < 3)));
    time::sleep(2 * PURGE_EVERY).await;
    let began = house.pets.began.lock().unwrap();
    let starts: Vec<_> = began.iter().map(|at| (*at - first).as_millis()).collect();
    assert_eq!(starts, [0, 40, 80, 140]);
}

#[test]
fn a_corrupt_key_is_logged_once_and_again_only_if_it_breaks_again() {
    let [one, two, otherwise] = [("API key 1", "a"), ("API key 2", "a"), ("API key 1", "b")]
        .map(|(key, rule)| Corruption::new(key, rule));
    let mut known = HashSet::new();
    let rounds = [
        (vec![one.clone()], vec![one.clone()]),
        (vec![one.clone()], vec![]),
        (vec![one.clone(), two.clone()], vec![two.clone()]),
        (vec![otherwise.clone(), two.clone()], vec![otherwise]),
        (vec![two.clone()], vec![]),
        (vec![one.clone(), two], vec![one]),
    ];
    for (current, new) in rounds {
        assert_eq!(take_new(&mut known, current), new);
    }
}
