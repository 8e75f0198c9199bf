//! Simulates a slow or failing store, to test clients (`--simulate`).
//!
//! Delays and failures apply to the catalogue and `/readyz`, not to API keys and housekeeping. The simulated store has
//! no version, so that the page cache is not used.

use std::{
    sync::{
        Arc,
        atomic::{AtomicU64, Ordering},
    },
    time::Duration,
};

use async_trait::async_trait;
use petstore_domain::{
    AddError, Added, CatalogueVersion, Idempotency, NewPet, Pet, PetId, PetPage, PetQuery,
    PetService, StoreError, Versioned,
};
use tokio::time;

use crate::cli::values;

/// The latency and the errors of a simulated store.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Simulation {
    /// The delay before each call.
    pub(super) latency: Duration,
    /// The percentage of calls that fail: 0 to 100.
    pub(super) errors: u64,
}

/// Parses a simulation such as `latency=200ms,errors=5%`.
pub(super) fn parse(text: &str) -> Result<Simulation, String> {
    const FORM: &str =
        "a simulation is latency=DURATION, errors=PERCENT% or both, like latency=200ms,errors=5%";
    let (mut latency, mut errors) = (None, None);
    for part in text.split(',') {
        match part.split_once('=') {
            Some(("latency", value)) if latency.is_none() => {
                latency = Some(values::latency(value)?);
            }
            Some(("errors", value)) if errors.is_none() => {
                errors = Some(percent(value)?);
            }
            _ => return Err(FORM.to_owned()),
        }
    }
    Ok(Simulation { latency: latency.unwrap_or_default(), errors: errors.unwrap_or_default() })
}

fn percent(text: &str) -> Result<u64, String> {
    let digits = text.strip_suffix('%').filter(|digits| values::is_number(digits));
    let percent = digits.and_then(|digits| digits.parse().ok()).filter(|percent| *percent <= 100);
    percent.ok_or_else(|| "the errors must be 0% to 100%, in whole per cent".to_owned())
}

/// A service that delays the calls of another service, and makes some of them fail.
pub(super) struct Simulated {
    pets: Arc<dyn PetService>,
    simulation: Simulation,
    calls: AtomicU64,
}

impl Simulated {
    pub(super) fn new(pets: Arc<dyn PetService>, simulation: Simulation) -> Self {
        let Simulation { latency, errors: errors_percent } = simulation;
        tracing::warn!(?latency, errors_percent, "--simulate makes the store slow or fail");
        Self { pets, simulation, calls: AtomicU64::new(0) }
    }

    /// Waits for the latency. Fails at even intervals: with 5 %, at each 20th call.
    async fn pass(&self) -> Result<(), StoreError> {
        let Simulation { latency, errors } = self.simulation;
        time::sleep(latency).await;
        let call = self.calls.fetch_add(1, Ordering::Relaxed) % 100;
        let failures = |calls| calls * errors / 100;
        if failures(call) < failures(call + 1) {
            return Err(StoreError::unavailable("a failure that --simulate asks for"));
        }
        Ok(())
    }
}

#[warn(clippy::missing_trait_methods)] // No new method may escape the delay by its default body.
#[async_trait]
impl PetService for Simulated {
    async fn list(&self, query: PetQuery) -> Result<Versioned<PetPage>, StoreError> {
        self.pass().await?;
        self.pets.list(query).await
    }

    async fn add(&self, pet: NewPet, idempotency: Option<Idempotency>) -> Result<Added, AddError> {
        self.pass().await?;
        self.pets.add(pet, idempotency).await
    }

    async fn get(&self, id: PetId) -> Result<Versioned<Option<Pet>>, StoreError> {
        self.pass().await?;
        self.pets.get(id).await
    }

    fn version(&self) -> Option<CatalogueVersion> {
        None
    }
}

#[cfg(test)]
mod tests {
    use std::{sync::Arc, time::Duration};

    use petstore_domain::{MockPetService, PetId, PetService as _, Versioned, mocks::new_pet};
    use tokio::time::Instant;

    use super::{Simulated, Simulation, parse};

    fn pets() -> Arc<MockPetService> {
        let mut pets = MockPetService::new();
        pets.expect_get().returning(|_| Ok(Versioned { value: None, version: None }));
        Arc::new(pets)
    }

    #[test]
    fn a_simulation_is_a_latency_a_rate_of_errors_or_both() {
        let simulation =
            |millis, errors| Ok(Simulation { latency: Duration::from_millis(millis), errors });
        assert_eq!(parse("latency=200ms,errors=5%"), simulation(200, 5));
        assert_eq!(parse("errors=100%"), simulation(0, 100));
        assert_eq!(parse("errors=0%,latency=60s"), simulation(60_000, 0));
        for (name, values) in [
            ("", &[""][..]),
            ("latency", &["", "=61s", "=1", "=1s,", "=1s,latency=1s"]),
            ("errors", &["=5", "=101%", "=+5%", "=%", "=5%,errors=5%"]),
            ("jitter", &["=1s"]),
        ] {
            for value in values {
                assert!(parse(&format!("{name}{value}")).is_err(), "{name}{value}");
            }
        }
    }

    #[tokio::test(start_paused = true)]
    async fn the_given_percentage_of_calls_fails_at_even_intervals() {
        for errors in [0, 1, 5, 33, 50, 99, 100] {
            let simulation = Simulation { errors, ..Simulation::default() };
            let store = Simulated::new(pets(), simulation);
            let mut failed = Vec::new();
            for call in 0..200_u64 {
                if store.get(PetId(1)).await.is_err() {
                    failed.push(call);
                }
            }
            assert_eq!(failed.len() as u64, 2 * errors);
            let gaps = failed.windows(2).map(|pair| pair[1] - pair[0]);
            assert!(gaps.into_iter().all(|gap| gap <= 100 / errors.max(1) + 1), "{failed:?}");
        }
    }

    #[tokio::test(start_paused = true)]
    async fn each_call_waits_and_there_is_no_version() {
        let latency = Duration::from_secs(7);
        let store = Simulated::new(pets(), Simulation { latency, errors: 100 });
        let began = Instant::now();
        assert_eq!(store.version(), None);
        assert_eq!(began.elapsed(), Duration::ZERO);
        store.get(PetId(1)).await.unwrap_err();
        assert_eq!(began.elapsed(), latency);
        // The simulated service has no `add`: a call would panic.
        store.add(new_pet("Rex"), None).await.unwrap_err();
        assert_eq!(began.elapsed(), 2 * latency);
    }
}
