//! One transaction for a whole group of additions. Its statements are sent at once and take one round trip. The first
//! statement takes the lock that every writer takes first. If the lock comes late, the server rolls back. Then the
//! writer waits for the lock alone, drops additions whose callers have left, and sends the rest.

use std::collections::HashMap;

use petstore_domain::{AddError, Added, IdempotencyDecision, IdempotencyRequest, StoreError};
use petstore_storage::{StoredVersion, writer::Add};
use tokio_postgres::{Error, Row};

use super::Attempt;
use crate::{
    connection::{APPENDING, APPENDING_LOCKED, Connection},
    error::StoreFailure,
    pets::{
        addition::{self, ADD, Additions},
        idempotency,
    },
    pool::MAX_TRIES,
    values::Values,
    version,
};

/// The outcome of an addition. `None` if the addition must be tried again: another addition of its group has the same
/// idempotency key, or the record has expired or was deleted since.
pub(super) type Outcome = Option<Result<Added, AddError>>;

/// The outcome of a committed group.
pub(super) struct Written {
    /// One outcome for each addition, in their order.
    pub(super) outcomes: Vec<Outcome>,
    /// The catalogue's version after the group.
    pub(super) version: Option<StoredVersion>,
}

/// A failed group: it was not written, or the outcome of its commit is unknown.
pub(super) struct Failed {
    pub(super) failure: StoreFailure,
    /// `true` if the group may have been committed nevertheless.
    pub(super) in_doubt: bool,
}

impl Failed {
    pub(super) fn in_doubt(failure: StoreFailure) -> Self {
        Self { failure, in_doubt: true }
    }

    /// Adds the sessions that blocked the group.
    pub(super) fn blocked_by(self, sessions: Option<String>) -> Self {
        let Some(sessions) = sessions else { return self };
        Self { failure: StoreFailure::Blocked(Box::new(self.failure), sessions), ..self }
    }
}

/// Before the commit is sent, any failure means that nothing was written.
impl<E: Into<StoreFailure>> From<E> for Failed {
    fn from(error: E) -> Self {
        Self { failure: error.into(), in_doubt: false }
    }
}

/// Writes the group. Afterwards `group` contains one addition for each outcome.
pub(super) async fn write(
    connection: &Connection,
    group: &mut Vec<Attempt>,
) -> Result<Written, Failed> {
    // Prepares every statement before the transaction. A statement that is prepared later would be sent after the
    // commit.
    for sql in [version::LOCK, idempotency::PURGE_IDS, idempotency::FIND, ADD] {
        connection.prepare(sql).await?;
    }
    let written = Box::pin(transaction(connection, group, false)).await;
    let is_late = written.as_ref().is_err_and(|failed| failed.failure.is_late());
    if !is_late || connection.rollback().await.is_err() {
        return written;
    }
    let (begun, locked) = tokio::join!(
        biased;
        connection.begin(APPENDING_LOCKED),
        connection.query(version::LOCK, &[]),
    );
    begun?;
    locked?;
    group.retain(|attempt| !attempt.add.reply.is_abandoned());
    Box::pin(transaction(connection, group, true)).await
}

/// Sends the whole transaction, or the rest of it if it `is_locked` already.
async fn transaction(
    connection: &Connection,
    group: &[Attempt],
    is_locked: bool,
) -> Result<Written, Failed> {
    let requests = || group.iter().filter_map(|attempt| attempt.add.request.as_ref());
    let ids: Vec<&[u8]> = requests().map(|request| &request.id.0[..]).collect();
    let cutoffs: Vec<i64> = requests().map(|request| request.cutoff.0).collect();
    let (known, expired): (Values<'_>, Values<'_>) = (&[&ids], &[&ids, &cutoffs]);
    let additions = group.iter().map(|Attempt { add, .. }| (&add.pet, add.request.as_ref()));
    let additions = Additions::new(additions)?;
    let values = additions.values();
    let (begun, locked, purged, found, added, committed) = tokio::join!(
        biased;
        unless(is_locked, connection.begin(APPENDING)),
        unless(is_locked, connection.query(version::LOCK, &[])),
        unless(ids.is_empty(), connection.query(idempotency::PURGE_IDS, expired)),
        unless(ids.is_empty(), connection.query(idempotency::FIND, known)),
        connection.query(ADD, &values),
        connection.commit(),
    );
    // A statement that the server refuses also prevents the commit. A lost answer does not.
    let refused =
        |failure: StoreFailure| Failed { in_doubt: failure.sql_state().is_none(), failure };
    begun.map_err(refused)?;
    locked.map_err(refused)?;
    purged.map_err(refused)?;
    let found = found.map_err(refused)?;
    let added = added.map_err(refused)?;
    committed.map_err(|failure| Failed { in_doubt: !failure.is_rolled_back(), failure })?;
    let outcomes = outcomes(group, &found, &added);
    let outcomes = outcomes.map_err(|error| Failed::in_doubt(error.into()))?;
    Ok(Written { outcomes, version: version::from_row(added.first()).ok() })
}

/// Runs `query`; returns the default without a query if `nothing` is `true`.
async fn unless<T: Default>(
    nothing: bool,
    query: impl Future<Output = Result<T, StoreFailure>>,
) -> Result<T, StoreFailure> {
    if nothing { Ok(T::default()) } else { query.await }
}

/// Returns the outcome of each addition, from the records that existed before and the rows of [`ADD`].
fn outcomes(group: &[Attempt], found: &[Row], added: &[Row]) -> Result<Vec<Outcome>, Error> {
    let (mut records, mut rows) = (HashMap::new(), HashMap::new());
    for row in found {
        records.insert(row.try_get::<_, &[u8]>(0)?, row);
    }
    for row in added {
        rows.insert(row.try_get::<_, Option<i64>>(2)?, row);
    }
    let outcome = |(place, attempt): (i64, &Attempt)| {
        let add = &attempt.add;
        if let Some(row) = rows.get(&Some(place))
            && let Some(outcome) = addition::outcome(row)?
        {
            return Ok(match outcome {
                Ok(id) => Some(Ok(Added::Created(add.pet.clone().with_id(id)))),
                Err(refusal) if refusal.is_conflict() && attempt.tries < MAX_TRIES => None,
                Err(refusal) => Some(Err(refusal.into())),
            });
        }
        Ok(match &add.request {
            Some(request) => {
                let record = records.get(&request.id.0[..]).copied();
                record.and_then(|record| by_record(add, request, record).transpose())
            }
            // There is no row of the state.
            None => version::from_row(added.first()).err().map(|error| Err(error.into())),
        })
    };
    (1..).zip(group).map(outcome).collect()
}

/// Returns the outcome of an addition whose idempotency key has a record; `None` if that record has expired.
fn by_record(
    add: &Add,
    request: &IdempotencyRequest,
    row: &Row,
) -> Result<Option<Added>, AddError> {
    let record = idempotency::record(row).map_err(StoreError::from)?;
    match request.decide(Some(&record)) {
        IdempotencyDecision::Create => Ok(None),
        IdempotencyDecision::Replay(id) => Ok(Some(Added::Replayed(add.pet.clone().with_id(id)))),
        IdempotencyDecision::Reused => Err(AddError::IdempotencyKeyReused),
    }
}
