//! Readiness of the store: at most one read begins per second, and all requests share it.
//!
//! `/readyz` needs no key, so its requests must not load the store, however many there are.

use std::{panic::AssertUnwindSafe, sync::Arc, time::Duration};

use futures_util::FutureExt as _;
use petstore_domain::{PageLimit, PetQuery, PetService};
use tokio::{
    sync::Mutex,
    time::{Instant, timeout},
};

use crate::response::error::ApiError;

/// The time after the start of a read for which its outcome answers further calls. Calls that waited for the read get
/// its outcome too.
const MAX_AGE: Duration = Duration::from_secs(1);

type Outcome = Result<(), ApiError>;

/// The outcome of the latest read, and its expiry. The lock is held while a read runs.
#[derive(Debug, Default)]
pub(crate) struct Readiness(Arc<Mutex<Option<(Instant, Outcome)>>>);

impl Readiness {
    /// Returns the outcome of the latest read, or reads again if that outcome is too old. A read ends after `limit` at
    /// the latest.
    ///
    /// # Errors
    /// The store did not answer the read.
    pub(crate) async fn check(&self, pets: &Arc<dyn PetService>, limit: Duration) -> Outcome {
        let asked = Instant::now();
        let mut latest = Arc::clone(&self.0).lock_owned().await;
        if let Some((expiry, outcome)) = &*latest
            && asked < *expiry
        {
            return outcome.clone();
        }
        let pets = Arc::clone(pets);
        // In a task, so that the read continues and releases the lock even if no request waits for the outcome.
        let read = tokio::spawn(async move {
            let began = Instant::now();
            let outcome = read(&*pets, limit).await;
            // An outage may affect no other request, so the outage is logged here.
            match (latest.as_ref().map(|(_, last)| last), &outcome) {
                (Some(Ok(())), Err(ApiError { cause, .. })) => {
                    tracing::error!(cause, "the store does not answer: the service is not ready");
                }
                (Some(Err(_)), Ok(())) => {
                    tracing::info!("the store answers again: the service is ready");
                }
                _ => (),
            }
            // A call that began before the end of the read gets its outcome, however long the read took.
            let expiry = Instant::now().max(began + MAX_AGE);
            *latest = Some((expiry, outcome.clone()));
            outcome
        });
        read.await.unwrap_or_else(|error| Err(ApiError::internal(error)))
    }
}

async fn read(pets: &dyn PetService, limit: Duration) -> Outcome {
    let one = PetQuery { limit: PageLimit::MIN, ..PetQuery::default() };
    match timeout(limit, AssertUnwindSafe(pets.list(one)).catch_unwind()).await {
        Ok(Ok(answer)) => answer.map(|_| ()).map_err(ApiError::from),
        Ok(Err(panic)) => Err(ApiError::panicked(&*panic)),
        Err(_) => Err(ApiError::unavailable("the store did not answer in time")),
    }
}

#[cfg(test)]
mod tests {
    use tokio::{task::JoinSet, time::sleep};
    use tracing::{Level, subscriber::set_default};

    use super::*;
    use crate::{observe::log::tests::Lines, response::error::ErrorCode, state::tests::SlowPets};

    const LIMIT: Duration = Duration::from_secs(30);

    #[tokio::test(start_paused = true)]
    async fn a_store_is_read_once_a_second_for_any_number_of_requests() {
        for (takes, fails, reads) in [
            (Duration::ZERO, false, 10),
            (Duration::ZERO, true, 10),
            (Duration::from_millis(1500), false, 7),
        ] {
            let store = Arc::new(SlowPets { takes, fails, ..SlowPets::default() });
            let (readiness, mut asking) = (Arc::new(Readiness::default()), JoinSet::new());
            for _ in 0..100 {
                for _ in 0..10 {
                    let pets: Arc<dyn PetService> = store.clone();
                    let readiness = Arc::clone(&readiness);
                    asking.spawn(async move { readiness.check(&pets, LIMIT).await });
                }
                sleep(Duration::from_millis(100)).await;
            }
            let outcomes = asking.join_all().await;
            assert!(outcomes.iter().all(|outcome| outcome.is_err() == fails));
            let one = PetQuery { limit: PageLimit::MIN, ..PetQuery::default() };
            assert_eq!(*store.lists.lock().unwrap(), vec![one; reads], "{takes:?}");
        }
    }

    #[tokio::test(start_paused = true)]
    async fn a_hanging_read_blocks_further_reads_and_ends_without_a_waiting_request() {
        let store = Arc::new(SlowPets { takes: Duration::MAX, ..SlowPets::default() });
        let pets: Arc<dyn PetService> = store.clone();
        let readiness = Readiness::default();
        for _ in 0..20 {
            let asked = timeout(Duration::from_secs(1), readiness.check(&pets, LIMIT)).await;
            assert!(asked.is_err(), "there is no answer yet");
        }
        assert_eq!(store.lists.lock().unwrap().len(), 1);
        assert_eq!(Arc::strong_count(&store.under_way), 2);
        sleep(LIMIT).await;
        assert_eq!(Arc::strong_count(&store.under_way), 1);
        let began = Instant::now();
        let failed = timeout(2 * LIMIT, readiness.check(&pets, LIMIT)).await;
        assert!(began.elapsed() >= LIMIT, "the call waits for another read");
        assert_eq!(failed.unwrap().unwrap_err().code, ErrorCode::Unavailable);
    }

    #[tokio::test(start_paused = true)]
    async fn each_change_of_readiness_is_logged_once() {
        let (readiness, lines) = (Readiness::default(), Lines::default());
        let _guard = set_default(lines.clone());
        for fails in [false, true, true, false, false] {
            let pets: Arc<dyn PetService> = Arc::new(SlowPets { fails, ..SlowPets::default() });
            assert_eq!(readiness.check(&pets, LIMIT).await.is_err(), fails);
            sleep(MAX_AGE).await;
        }
        let levels: Vec<_> = lines.take().iter().map(|(level, _)| *level).collect();
        assert_eq!(levels, [Level::ERROR, Level::INFO]);
    }
}
