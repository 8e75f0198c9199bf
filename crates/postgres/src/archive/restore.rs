//! One transaction that writes what another store held.

mod attempts;
mod keys;
mod pets;

use std::{sync::Arc, time::Instant};

use async_trait::async_trait;
use petstore_domain::{ApiKey, IdempotencyRecord, NewPet, Pet, Restore, RestoreError, StoreError};
use tokio::time;
use tokio_postgres::Row;

use crate::{
    board::Board,
    connection::{ARCHIVE_PATIENCE, Connection, Values},
    error::{Failure, StoreFailure},
    version::{self, Seen},
};

/// Identifiers that were made elsewhere must not meet those that an instance is making now, so
/// nobody else adds anything from the first of them until the commit.
const LOCK: &str = "LOCK TABLE idempotency, pet, api_key IN SHARE ROW EXCLUSIVE MODE";
/// Lets the next identifiers be above the highest of the table.
const RAISE: [&str; 2] = [
    "SELECT setval('pet_id', m.id) FROM (SELECT max(id) AS id FROM pet) m, pet_id s \
     WHERE m.id >= 1 AND (s.last_value < m.id OR NOT s.is_called)",
    "SELECT setval('api_key_id', m.id) FROM (SELECT max(id) AS id FROM api_key) m, api_key_id s \
     WHERE m.id >= 1 AND (s.last_value < m.id OR NOT s.is_called)",
];

/// A transaction that is still open. Dropping it closes its connection, and so rolls it back.
#[derive(Debug)]
pub(super) struct Restoring {
    connection: Connection,
    board: Arc<Board>,
    began: Instant,
    /// Whether others are kept from writing.
    locked: bool,
    /// Whether the catalogue is another one than before.
    changed: bool,
}

impl Restoring {
    pub(super) fn new(connection: Connection, board: Arc<Board>) -> Self {
        Self { connection, board, began: Instant::now(), locked: false, changed: false }
    }

    async fn rows(&self, sql: &'static str, values: Values<'_>) -> Result<Vec<Row>, StoreFailure> {
        patiently(async { Ok(self.connection.rows(sql, values).await?) }).await
    }

    async fn execute(&self, sql: &'static str, values: Values<'_>) -> Result<u64, StoreFailure> {
        patiently(async { Ok(self.connection.execute(sql, values).await?) }).await
    }

    async fn lock(&mut self) -> Result<(), StoreFailure> {
        if !self.locked {
            patiently(async { Ok(self.connection.batch(LOCK).await?) }).await?;
            self.locked = true;
        }
        Ok(())
    }

    async fn finish(&self) -> Result<(), StoreFailure> {
        if self.locked {
            for sql in RAISE {
                self.rows(sql, &[]).await?;
            }
        }
        if !self.changed {
            return patiently(self.connection.commit()).await;
        }
        let mark = version::random_mark()?;
        let renewed = self.rows(version::RENEW, &[&Some(mark.as_slice())]).await?;
        patiently(self.connection.commit()).await?;
        if let Ok(seen) = Seen::of(renewed.first()) {
            self.board.show(seen, self.began);
        }
        Ok(())
    }
}

#[async_trait]
impl Restore for Restoring {
    async fn pets(&mut self, pets: Vec<Pet>) -> Result<u64, RestoreError> {
        self.restore_pets(&pets).await.map_err(Failure::into_error)
    }

    async fn new_pets(&mut self, pets: Vec<NewPet>) -> Result<(), RestoreError> {
        self.restore_new_pets(&pets).await.map_err(Failure::into_error)
    }

    async fn keys(&mut self, keys: Vec<ApiKey>) -> Result<(), RestoreError> {
        self.restore_keys(&keys).await.map_err(Failure::into_error)
    }

    async fn idempotency_records(
        &mut self,
        attempts: Vec<IdempotencyRecord>,
    ) -> Result<(), RestoreError> {
        self.restore_attempts(attempts).await.map_err(Failure::into_error)
    }

    async fn commit(self: Box<Self>) -> Result<(), StoreError> {
        Ok(self.finish().await?)
    }
}

fn conflict(what: String) -> Failure<RestoreError> {
    Failure::Answer(RestoreError::Conflict { what })
}

async fn patiently<T>(
    work: impl Future<Output = Result<T, StoreFailure>>,
) -> Result<T, StoreFailure> {
    let done = time::timeout(ARCHIVE_PATIENCE, work).await;
    done.unwrap_or(Err(StoreFailure::Deadline(ARCHIVE_PATIENCE)))
}
