//! Flaws while the store cannot be reached.

use std::sync::{
    Arc,
    atomic::{AtomicBool, Ordering},
};

use async_trait::async_trait;
use petstore_domain::{AddError, Added, IdempotencyRequest, NewPet, PetRepository, StoreError};
use petstore_memory::MemoryStore;

use crate::{flawed::Flaw, is_caught_by};

/// Makes an adapter that does this while it cannot reach its store, and the test that it is caught.
macro_rules! while_unreachable {
    ($test:ident, $flaw:ident, $does:expr, $due:expr) => {
        #[derive(Clone)]
        struct $flaw;

        #[async_trait]
        impl Flaw for $flaw {
            async fn unreachable(&self) -> Result<(), StoreError> {
                $does
            }
        }

        #[tokio::test(flavor = "multi_thread")]
        async fn $test() {
            is_caught_by($flaw, $due).await;
        }
    };
}

while_unreachable!(
    an_outage_that_panics_is_caught,
    Panics,
    panic!("no connection"),
    [
        "a_retry_after_an_outage_adds_one_animal",
        "an_unreachable_store_is_unavailable_in_time",
        "it_comes_back_by_itself_with_all_it_had"
    ]
);
while_unreachable!(
    an_outage_without_end_is_caught,
    Hangs,
    std::future::pending().await,
    [
        "a_retry_after_an_outage_adds_one_animal",
        "an_unreachable_store_is_unavailable_in_time",
        "it_comes_back_by_itself_with_all_it_had"
    ]
);
while_unreachable!(
    a_write_acknowledged_in_an_outage_is_caught,
    Pretends,
    Ok(()),
    [
        "a_retry_after_an_outage_adds_one_animal",
        "an_unreachable_store_is_unavailable_in_time",
        "it_comes_back_by_itself_with_all_it_had"
    ]
);

/// After the first outage it never answers again.
#[derive(Clone, Default)]
struct GivesUp(Arc<AtomicBool>);

#[async_trait]
impl Flaw for GivesUp {
    async fn add(
        &self,
        store: &MemoryStore,
        pet: NewPet,
        attempt: Option<IdempotencyRequest>,
    ) -> Result<Added, AddError> {
        if self.0.load(Ordering::Relaxed) {
            self.unreachable().await?;
        }
        PetRepository::add(store, pet, attempt).await
    }

    async fn unreachable(&self) -> Result<(), StoreError> {
        self.0.store(true, Ordering::Relaxed);
        Err(StoreError::unavailable("the connection is gone"))
    }

    fn fresh(&self) -> Self {
        Self::default()
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_store_that_does_not_come_back_is_caught() {
    is_caught_by(
        GivesUp::default(),
        ["a_retry_after_an_outage_adds_one_animal", "it_comes_back_by_itself_with_all_it_had"],
    )
    .await;
}
