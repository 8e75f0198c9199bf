//! One transaction for a whole group of additions.
//!
//! Statements that do not wait for one another are sent together, so that a group of additions
//! without idempotency keys takes one round trip, any other two.

use petstore_domain::IdempotencyRequest;
use tokio_postgres::{Error, Row};

use super::{
    job::Job,
    plan::{Outcome, Plan, Step},
};
use crate::{
    connection::Connection,
    error::StoreFailure,
    pets::{
        idempotency,
        rows::{self, Columns},
    },
    transaction::WRITING,
    values::Values,
    version::{self, StoredVersion},
};

/// What became of a group. It is committed.
pub(super) struct Written {
    /// One for each addition, in their order.
    pub(super) outcomes: Vec<Outcome>,
    /// The version that the group has left.
    pub(super) version: Option<StoredVersion>,
}

/// A group was not written, or it is not known whether it was.
pub(super) struct Failed {
    pub(super) failure: StoreFailure,
    /// Whether it may have been committed nevertheless.
    pub(super) in_doubt: bool,
}

impl Failed {
    pub(super) fn in_doubt(failure: StoreFailure) -> Self {
        Self { failure, in_doubt: true }
    }
}

/// Before the commit has been sent, a failure of whatever kind means that nothing has happened.
impl<E: Into<StoreFailure>> From<E> for Failed {
    fn from(error: E) -> Self {
        Self { failure: error.into(), in_doubt: false }
    }
}

pub(super) async fn write(connection: &Connection, group: &[Job]) -> Result<Written, Failed> {
    prepare(connection).await?;
    let mut plan = Plan::new(group);
    if !plan.first.is_empty() {
        let reserved = reserve(connection, &plan).await?;
        plan.reserve(&reserved)?;
    }
    finish(connection, &plan).await
}

/// A statement that had to be prepared first would be sent behind the commit that is sent beside it.
async fn prepare(connection: &Connection) -> Result<(), Error> {
    for sql in [
        idempotency::PURGE_IDS,
        idempotency::RESERVE,
        idempotency::FIND,
        rows::INSERT,
        version::RENEW,
    ] {
        connection.prepare(sql).await?;
    }
    Ok(())
}

/// Begins, and reserves the ids that are free.
async fn reserve(connection: &Connection, plan: &Plan<'_>) -> Result<Vec<Row>, Error> {
    let indexes = plan.first.values();
    let requests: Vec<&IdempotencyRequest> =
        indexes.filter_map(|index| plan.group[*index].request.as_ref()).collect();
    let ids: Vec<&[u8]> = plan.first.keys().copied().collect();
    let cutoffs: Vec<i64> = requests.iter().map(|request| request.cutoff.0).collect();
    let times: Vec<i64> = requests.iter().map(|request| request.at.0).collect();
    let fingerprints: Vec<&[u8]> = requests.iter().map(|one| &one.fingerprint.0[..]).collect();
    let expired: Values<'_> = &[&ids, &cutoffs];
    let new: Values<'_> = &[&ids, &fingerprints, &times];
    let (begun, purged, reserved) = tokio::join!(
        biased;
        connection.begin(WRITING),
        connection.execute(idempotency::PURGE_IDS, expired),
        connection.rows(idempotency::RESERVE, new),
    );
    begun?;
    purged?;
    reserved
}

/// Inserts the animals, reads the records of the others, renews the version, and commits.
async fn finish(connection: &Connection, plan: &Plan<'_>) -> Result<Written, Failed> {
    let (mut columns, mut repeats) = (Columns::default(), Vec::<&[u8]>::new());
    for (job, step) in plan.group.iter().zip(plan.steps()) {
        match step {
            Step::Insert(id) => columns.push(id, &job.pet),
            Step::FindRecord(request) => repeats.push(&request.id.0),
        }
    }
    let version = (!columns.ids.is_empty()).then(version::random).transpose()?;
    let version = version.as_ref().map(<[u8; 16]>::as_slice);
    let Columns { ids, names, categories, statuses } = &columns;
    let animals: Values<'_> = &[ids, names, categories, statuses];
    let (records, renewal): (Values<'_>, Values<'_>) = (&[&repeats], &[&version]);
    let (begun, inserted, found, renewed, committed) = tokio::join!(
        biased;
        async { if plan.first.is_empty() { connection.begin(WRITING).await } else { Ok(()) } },
        rows_unless(ids.is_empty(), connection, rows::INSERT, animals),
        rows_unless(repeats.is_empty(), connection, idempotency::FIND, records),
        connection.rows(version::RENEW, renewal),
        connection.commit(),
    );
    // A statement that the server refuses takes the commit with it; one whose answer got lost
    // does not.
    let refused = |error: Error| Failed { in_doubt: error.code().is_none(), failure: error.into() };
    begun.map_err(refused)?;
    let inserted = inserted.map_err(refused)?;
    let found = found.map_err(refused)?;
    let renewed = renewed.map_err(refused)?;
    committed.map_err(|failure| {
        let in_doubt = !failure.is_conflict() && !failure.is_refusal();
        Failed { failure, in_doubt }
    })?;
    let outcomes = plan.outcomes(&inserted, &found);
    Ok(Written {
        outcomes: outcomes.map_err(|error| Failed::in_doubt(error.into()))?,
        version: StoredVersion::from_row(renewed.first()).ok(),
    })
}

/// Rows, or none without asking where there is nothing to ask for.
async fn rows_unless(
    nothing: bool,
    connection: &Connection,
    sql: &'static str,
    values: Values<'_>,
) -> Result<Vec<Row>, Error> {
    if nothing { Ok(Vec::new()) } else { connection.rows(sql, values).await }
}
