//! Which identifiers animals get.

use petstore_domain::{PetId, StoreError};
use rusqlite::Connection;

use crate::error::{Failure, WriteFailure};

/// The highest identifier that is taken, even if its animal is gone.
pub(crate) const HIGHEST: &str = "SELECT max(taken, coalesce((SELECT max(id) FROM pet), 0)) \
     FROM catalogue WHERE only = 1";

/// The identifiers that one write transaction assigns, one after the other.
#[derive(Debug)]
pub(crate) struct Identifiers {
    highest: i64,
}

impl Identifiers {
    /// Begins after the highest that is taken.
    pub(crate) fn begin(connection: &Connection) -> rusqlite::Result<Self> {
        let highest = connection.prepare_cached(HIGHEST)?.query_row([], |row| row.get(0))?;
        Ok(Self { highest })
    }

    pub(crate) fn next<E: From<StoreError>>(&mut self) -> Result<PetId, Failure<E>> {
        let none_left = || Failure::Answer(StoreError::from(WriteFailure::NoIdentifier).into());
        self.highest = self.highest.checked_add(1).ok_or_else(none_left)?;
        Ok(PetId(self.highest))
    }
}
