//! What the service does beside answering.

use std::{sync::Arc, time::Duration};

use petstore_domain::{Catalogue, KeyRing};
use tokio::{
    sync::oneshot,
    task::JoinHandle,
    time::{self, Instant, MissedTickBehavior},
};

/// How often uses of keys are written back; each key's own at most once a minute.
const WRITE_BACK_EVERY: Duration = Duration::from_secs(5);
/// How often expired idempotency records are purged.
const PURGE_EVERY: Duration = Duration::from_mins(1);
/// The limit of batches in one round: 50 000 records.
const MAX_BATCHES: usize = 100;
/// How long stopping waits for the store.
const LAST_ROUND: Duration = Duration::from_secs(5);

/// The task that does it. What fails is logged and tried again in the next round.
#[derive(Debug)]
pub(super) struct Housekeeping {
    stop: oneshot::Sender<()>,
    task: JoinHandle<()>,
}

impl Housekeeping {
    /// Begins; the first rounds come one interval from now.
    pub(super) fn start(keys: Arc<KeyRing>, catalogue: Arc<Catalogue>) -> Self {
        let (stop, stopped) = oneshot::channel();
        let task = tokio::spawn(async move {
            until_stopped(&keys, &catalogue, stopped).await;
            write_back(&keys).await;
        });
        Self { stop, task }
    }

    /// Ends after a last write-back.
    pub(super) async fn stop(self) {
        let Self { stop, mut task } = self;
        let _ = stop.send(());
        if time::timeout(LAST_ROUND, &mut task).await.is_err() {
            task.abort();
            tracing::warn!("the store took too long; the last uses of API keys may not be noted");
        }
    }
}

async fn until_stopped(keys: &KeyRing, catalogue: &Catalogue, mut stopped: oneshot::Receiver<()>) {
    let mut write_back_tick = every(WRITE_BACK_EVERY);
    let mut purge_tick = every(PURGE_EVERY);
    loop {
        tokio::select! {
            _ = &mut stopped => return,
            _ = write_back_tick.tick() => write_back(keys).await,
            _ = purge_tick.tick() => {
                tokio::select! {
                    _ = &mut stopped => return,
                    () = purge(catalogue) => {}
                }
            }
        }
    }
}

fn every(period: Duration) -> time::Interval {
    let mut interval = time::interval_at(Instant::now() + period, period);
    interval.set_missed_tick_behavior(MissedTickBehavior::Delay);
    interval
}

async fn write_back(keys: &KeyRing) {
    if let Err(error) = keys.write_back_uses().await {
        tracing::warn!(%error, "the last uses of API keys could not be noted");
    }
}

async fn purge(catalogue: &Catalogue) {
    for _ in 0..MAX_BATCHES {
        match catalogue.purge_expired_records().await {
            Ok(true) => {}
            Ok(false) => return,
            Err(error) => {
                tracing::warn!(%error, "expired idempotency records could not be purged");
                return;
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use std::{
        sync::{
            Arc,
            atomic::{AtomicUsize, Ordering},
        },
        time::Duration,
    };

    use petstore_domain::{
        ApiKeySecret, Authenticator as _, Catalogue, KeyId, KeyName, KeyRing, ManualClock,
        MockApiKeyRepository, MockPetRepository, NewApiKey, StoreError, Timestamp,
    };
    use tokio::time;

    use super::{Housekeeping, MAX_BATCHES};

    /// Housekeeping on mocks whose calls fail or always leave more to do.
    struct House {
        noted: Arc<AtomicUsize>,
        purged: Arc<AtomicUsize>,
        ring: Arc<KeyRing>,
        keeping: Housekeeping,
    }

    fn house(fails: bool) -> House {
        let [noted, purged] = [0, 0].map(|zero| Arc::new(AtomicUsize::new(zero)));
        let (note, purge) = (noted.clone(), purged.clone());
        let mut keys = MockApiKeyRepository::new();
        keys.expect_live().returning(|_| {
            let secret = ApiKeySecret::from_entropy(&[0; 32]);
            let key = NewApiKey {
                name: KeyName::parse("web").unwrap(),
                digest: secret.digest(),
                prefix: secret.prefix().to_owned(),
                created_at: Timestamp(0),
                expires_at: None,
            };
            Ok(vec![key.with_id(KeyId(1))])
        });
        keys.expect_note_use().returning(move |_| {
            note.fetch_add(1, Ordering::Relaxed);
            if fails { Err(StoreError::unavailable("gone")) } else { Ok(()) }
        });
        let mut pets = MockPetRepository::new();
        pets.expect_purge_expired().returning(move |_, limit| {
            purge.fetch_add(1, Ordering::Relaxed);
            if fails { Err(StoreError::unavailable("gone")) } else { Ok(limit) }
        });
        let clock = Arc::new(ManualClock::new(Timestamp(0)));
        let ring = Arc::new(KeyRing::new(Arc::new(keys), clock.clone(), None));
        let catalogue = Arc::new(Catalogue::new(Arc::new(pets), clock));
        let keeping = Housekeeping::start(ring.clone(), catalogue);
        House { noted, purged, ring, keeping }
    }

    async fn use_key(ring: &KeyRing) {
        ring.authenticate(&ApiKeySecret::from_entropy(&[0; 32])).await.unwrap();
    }

    #[tokio::test(start_paused = true)]
    async fn uses_are_noted_every_five_seconds_and_at_the_end() {
        let house = house(false);
        use_key(&house.ring).await;
        time::sleep(Duration::from_millis(4_900)).await;
        assert_eq!(house.noted.load(Ordering::Relaxed), 0);
        time::sleep(Duration::from_millis(200)).await;
        assert_eq!(house.noted.load(Ordering::Relaxed), 1);
        house.keeping.stop().await;

        let house = self::house(false);
        use_key(&house.ring).await;
        house.keeping.stop().await;
        assert_eq!(house.noted.load(Ordering::Relaxed), 1);
    }

    #[tokio::test(start_paused = true)]
    async fn expired_records_are_purged_every_minute_in_bounded_rounds() {
        let house = house(false);
        time::sleep(Duration::from_secs(59)).await;
        assert_eq!(house.purged.load(Ordering::Relaxed), 0);
        time::sleep(Duration::from_secs(2)).await;
        assert_eq!(house.purged.load(Ordering::Relaxed), MAX_BATCHES);
        house.keeping.stop().await;
    }

    #[tokio::test(start_paused = true)]
    async fn a_failing_store_is_tried_again_in_the_next_round() {
        let house = house(true);
        use_key(&house.ring).await;
        time::sleep(Duration::from_secs(121)).await;
        assert_eq!(house.noted.load(Ordering::Relaxed), 24);
        assert_eq!(house.purged.load(Ordering::Relaxed), 2);
        house.keeping.stop().await;
    }
}
