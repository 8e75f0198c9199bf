//! A flaw of reading idempotency keys back.

use std::sync::Arc;

use async_trait::async_trait;
use petstore_domain::{
    ApiKey, Archive, Corruption, Idempotency, IdempotencyKey, IdempotencyRecord, Pet, PetId,
    Snapshot, StoreCounts, StoreError,
};
use petstore_memory::MemoryStore;

use crate::{flawed::Flaw, is_caught_by};

/// Takes the text of a key for what a client sent: quotes around it go, and one alone is refused.
struct Reparsing(Box<dyn Snapshot>);

fn parsed(record: IdempotencyRecord) -> Result<IdempotencyRecord, StoreError> {
    let Idempotency { caller, key } = record.idempotency;
    let broken = |rule: String| Corruption { what: "a record".to_owned(), rule };
    let key = IdempotencyKey::parse(key.as_str()).map_err(|error| broken(error.to_string()))?;
    Ok(IdempotencyRecord { idempotency: Idempotency { caller, key }, ..record })
}

#[async_trait]
impl Snapshot for Reparsing {
    async fn counts(&mut self) -> Result<StoreCounts, StoreError> {
        self.0.counts().await
    }

    async fn pets(&mut self, after: Option<PetId>, at_most: u32) -> Result<Vec<Pet>, StoreError> {
        self.0.pets(after, at_most).await
    }

    async fn keys(&mut self) -> Result<Vec<ApiKey>, StoreError> {
        self.0.keys().await
    }

    async fn idempotency_records(
        &mut self,
        after: Option<Idempotency>,
        at_most: u32,
    ) -> Result<Vec<IdempotencyRecord>, StoreError> {
        let records = self.0.idempotency_records(after, at_most).await?;
        records.into_iter().map(parsed).collect()
    }
}

#[derive(Clone)]
struct Reparses;

#[async_trait]
impl Flaw for Reparses {
    async fn snapshot(&self, store: &Arc<MemoryStore>) -> Box<dyn Snapshot> {
        Box::new(Reparsing(store.snapshot().await.unwrap()))
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_key_that_loses_its_quotes_is_caught() {
    is_caught_by(Reparses, ["a_snapshot_gives_keys_of_records_as_they_are"]).await;
}
