//! A flaw of reading idempotency keys back.

use std::sync::Arc;

use async_trait::async_trait;
use petstore_domain::{
    ApiKey, Archive, AttemptRecord, Corruption, Idempotency, IdempotencyKey, Pet, PetId, ReadError,
    Snapshot, StoreCounts,
};
use petstore_memory::MemoryStore;

use crate::{flawed::Flaw, is_caught_by};

/// Takes the text of a key for what a client sent: quotes around it go, and one alone is refused.
struct Reparsing(Box<dyn Snapshot>);

fn parsed(record: AttemptRecord) -> Result<AttemptRecord, ReadError> {
    let Idempotency { caller, key } = record.idempotency;
    let broken = |rule: String| Corruption { what: "a record".to_owned(), rule };
    let key = IdempotencyKey::parse(key.as_str()).map_err(|error| broken(error.to_string()))?;
    Ok(AttemptRecord { idempotency: Idempotency { caller, key }, ..record })
}

#[async_trait]
impl Snapshot for Reparsing {
    async fn counts(&mut self) -> Result<StoreCounts, ReadError> {
        self.0.counts().await
    }

    async fn pets(&mut self, after: Option<PetId>, at_most: u32) -> Result<Vec<Pet>, ReadError> {
        self.0.pets(after, at_most).await
    }

    async fn keys(&mut self) -> Result<Vec<ApiKey>, ReadError> {
        self.0.keys().await
    }

    async fn attempts(
        &mut self,
        after: Option<Idempotency>,
        at_most: u32,
    ) -> Result<Vec<AttemptRecord>, ReadError> {
        let records = self.0.attempts(after, at_most).await?;
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
