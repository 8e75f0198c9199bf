//! [`Restore`] on SQLite: a write transaction.

mod attempts;
mod keys;
mod pets;

use std::{fmt::Display, sync::Arc};

use async_trait::async_trait;
use petstore_domain::{ApiKey, IdempotencyRecord, NewPet, Pet, Restore, RestoreError, StoreError};
use rusqlite::Connection;

use super::{Broken, Dedicated};
use crate::{board::Board, error::Failure, version::Renewal};

/// An open write transaction. Dropping it closes the connection, which rolls it back.
pub(super) struct Transaction {
    dedicated: Dedicated,
    renewal: Renewal,
    board: Arc<Board>,
}

impl Transaction {
    pub(super) fn begin(mut dedicated: Dedicated, board: Arc<Board>) -> Result<Self, Broken> {
        let renewal = Renewal::of(&mut dedicated.connection)?;
        dedicated.connection.execute_batch("BEGIN IMMEDIATE")?;
        Ok(Self { dedicated, renewal, board })
    }

    fn write<T>(
        &self,
        work: impl FnOnce(&Connection) -> Result<T, Failure<RestoreError>>,
    ) -> Result<T, RestoreError> {
        work(&self.dedicated.connection).map_err(|failure| match failure {
            Failure::Answer(error) => error,
            Failure::Sqlite(error) => StoreError::unavailable(error).into(),
        })
    }
}

#[async_trait]
impl Restore for Transaction {
    async fn pets(&mut self, pets: Vec<Pet>) -> Result<u64, RestoreError> {
        self.write(|connection| pets::restore(connection, &pets))
    }

    async fn new_pets(&mut self, pets: Vec<NewPet>) -> Result<(), RestoreError> {
        self.write(|connection| pets::insert(connection, pets))
    }

    async fn keys(&mut self, keys: Vec<ApiKey>) -> Result<(), RestoreError> {
        self.write(|connection| keys.iter().try_for_each(|key| keys::restore(connection, key)))
    }

    async fn idempotency_records(
        &mut self,
        attempts: Vec<IdempotencyRecord>,
    ) -> Result<(), RestoreError> {
        self.write(|connection| {
            attempts.iter().try_for_each(|record| attempts::restore(connection, record))
        })
    }

    async fn commit(self: Box<Self>) -> Result<(), StoreError> {
        let connection = &self.dedicated.connection;
        self.renewal.renew(connection).map_err(StoreError::unavailable)?;
        connection.execute_batch("COMMIT").map_err(StoreError::unavailable)?;
        self.board.renew();
        Ok(())
    }
}

fn conflict(what: impl Display) -> Failure<RestoreError> {
    Failure::Answer(RestoreError::Conflict { what: what.to_string() })
}
