//! The statement that adds animals with their idempotency records, under savepoints (`schema/7.sql`).

use petstore_domain::{AddError, IdempotencyRequest, NewPet, PetId, PetStatus, StoreError};
use tokio_postgres::{Error, Row};

use crate::{
    error::{StoreFailure, passes},
    values::Value,
    version::{self, state, where_state},
};

/// Adds animals with their idempotency records. Each row has the version, the place of an animal in the arrays, and its
/// identifier or the server's refusal. A row has neither if the idempotency key has a record already.
///
/// The row of the state is updated even if nothing is added. So the statement fails if the store is not open, and the
/// commit waits until everything that was read is durable, on a standby too.
pub(crate) const ADD: &str = concat!(
    "WITH new AS MATERIALIZED (SELECT e.* FROM ",
    state!(),
    " c, petstore_add(c.state, $1::text[], $2::bigint[], $3::text[], $4::bytea[], $5::bytea[], $6::bigint[]) e \
     ), renewed AS ( \
       UPDATE petstore_state SET changes = changes + 1, \
         version = CASE (SELECT count(new_id) FROM new) WHEN 0 THEN version ELSE $7::bytea END",
    where_state!(),
    "RETURNING version, changes \
     ) SELECT renewed.version, renewed.changes, nth, new_id, refusal, code, is_own FROM renewed LEFT JOIN new ON true"
);

/// The values of [`ADD`].
#[derive(Default)]
pub(crate) struct Additions<'a> {
    names: Vec<&'a str>,
    categories: Vec<i64>,
    statuses: Vec<Option<&'static str>>,
    keys: Vec<Option<&'a [u8]>>,
    fingerprints: Vec<Option<&'a [u8]>>,
    times: Vec<Option<i64>>,
    version: Vec<u8>,
}

impl<'a> Additions<'a> {
    /// Makes the values of one statement, with a new version.
    pub(crate) fn new(
        additions: impl Iterator<Item = (&'a NewPet, Option<&'a IdempotencyRequest>)>,
    ) -> Result<Self, StoreFailure> {
        let mut columns = Self { version: version::random()?.to_vec(), ..Self::default() };
        for (pet, request) in additions {
            columns.names.push(pet.name.as_str());
            columns.categories.push(pet.category_id.0);
            columns.statuses.push(pet.status.map(PetStatus::as_str));
            columns.keys.push(request.map(|request| &request.id.0[..]));
            columns.fingerprints.push(request.map(|request| &request.fingerprint.0[..]));
            columns.times.push(request.map(|request| request.at.0));
        }
        Ok(columns)
    }

    pub(crate) fn values(&self) -> [&dyn Value; 7] {
        let Self { names, categories, statuses, keys, fingerprints, times, version } = self;
        [names, categories, statuses, keys, fingerprints, times, version]
    }
}

/// Returns the identifier of the added animal, or the server's refusal; `None` if the idempotency key has a record.
pub(crate) fn outcome(row: &Row) -> Result<Option<Result<PetId, Refusal>>, Error> {
    if let Some(id) = row.try_get(3)? {
        return Ok(Some(Ok(PetId(id))));
    }
    let Some(message) = row.try_get(4)? else { return Ok(None) };
    Ok(Some(Err(Refusal { message, state: row.try_get(5)?, is_own: row.try_get(6)? })))
}

/// The server's refusal of one row.
pub(crate) struct Refusal {
    message: String,
    state: String,
    /// `true` if the statement itself failed; `false` if an operator's trigger on the table failed.
    is_own: bool,
}

impl Refusal {
    /// Returns whether a concurrent transaction is the reason.
    pub(crate) fn is_conflict(&self) -> bool {
        self.state.starts_with("40")
    }
}

impl From<Refusal> for StoreError {
    fn from(refusal: Refusal) -> Self {
        let may_pass = refusal.is_own && (refusal.is_conflict() || passes(&refusal.state));
        if may_pass { Self::unavailable(refusal.message) } else { Self::refused(refusal.message) }
    }
}

impl From<Refusal> for AddError {
    fn from(refusal: Refusal) -> Self {
        Self::Store(refusal.into())
    }
}
