//! One transaction for a whole group of additions.
//!
//! Statements that do not wait for one another are sent together, so that a group of additions
//! without idempotency keys takes one round trip, any other two.

mod plan;

use std::collections::BTreeMap;

use petstore_domain::{IdempotencyRequest, PetId};
use tokio_postgres::{Error, Row};

pub(super) use self::plan::Outcome;
use self::plan::{Part, Plan};
use super::addition::Addition;
use crate::{
    connection::{Connection, Values},
    error::StoreFailure,
    pets::{
        attempts,
        rows::{self, Columns},
    },
    version::{self, Seen},
};

const BEGIN: &str = "BEGIN ISOLATION LEVEL READ COMMITTED";

/// What a group has led to. It is committed.
pub(super) struct Written {
    /// One for each addition, in their order.
    pub(super) outcomes: Vec<Outcome>,
    /// The state that the group has left.
    pub(super) seen: Option<Seen>,
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
impl From<Error> for Failed {
    fn from(error: Error) -> Self {
        Self { failure: error.into(), in_doubt: false }
    }
}

pub(super) async fn write(connection: &Connection, group: &[Addition]) -> Result<Written, Failed> {
    prepare(connection).await?;
    let mut plan = Plan::of(group);
    if !plan.leaders.is_empty() {
        let rows = claim(connection, &plan).await?;
        for row in &rows {
            let name = attempts::name_of(row)?;
            if let Some(index) = plan.leaders.get(&name) {
                plan.claimed.insert(*index, PetId(row.try_get(2)?));
            }
        }
    }
    finish(connection, &plan).await
}

/// What is prepared now does not hold up what is sent together later.
async fn prepare(connection: &Connection) -> Result<(), Error> {
    for sql in
        [attempts::FORGET_EXPIRED, attempts::CLAIM, attempts::FIND, rows::INSERT, version::RENEW]
    {
        connection.prepare(sql).await?;
    }
    Ok(())
}

/// Begins, and reserves the keys that are free. All instances go through them in the same order,
/// so that they wait for one another in a line, not in a circle.
async fn claim(connection: &Connection, plan: &Plan<'_>) -> Result<Vec<Row>, Error> {
    let in_order: BTreeMap<_, _> = plan.leaders.iter().collect();
    let attempts: Vec<&IdempotencyRequest> =
        in_order.values().filter_map(|index| plan.group[**index].attempt.as_ref()).collect();
    let (callers, keys) = names(attempts.iter().copied());
    let expired: Vec<i64> = attempts.iter().map(|attempt| attempt.cutoff.0).collect();
    let at: Vec<i64> = attempts.iter().map(|attempt| attempt.at.0).collect();
    let fingerprints: Vec<&[u8]> = attempts.iter().map(|one| &one.fingerprint.0[..]).collect();
    let to_forget: Values<'_> = &[&callers, &keys, &expired];
    let to_claim: Values<'_> = &[&callers, &keys, &fingerprints, &at];
    let (begun, forgotten, claimed) = tokio::join!(
        biased;
        connection.batch(BEGIN),
        connection.execute(attempts::FORGET_EXPIRED, to_forget),
        connection.rows(attempts::CLAIM, to_claim),
    );
    begun?;
    forgotten?;
    claimed
}

fn names<'a>(
    attempts: impl Iterator<Item = &'a IdempotencyRequest>,
) -> (Vec<&'a [u8]>, Vec<&'a [u8]>) {
    attempts.map(attempts::name).unzip()
}

/// Adds the animals, renews the mark, reads the records of the others, and commits.
async fn finish(connection: &Connection, plan: &Plan<'_>) -> Result<Written, Failed> {
    let mut columns = Columns::default();
    for (index, addition) in plan.group.iter().enumerate() {
        match plan.part(index) {
            Part::Plain => columns.push(None, &addition.pet),
            Part::Claimed(id) => columns.push(Some(id), &addition.pet),
            Part::Repeat(_) => {}
        }
    }
    let repeats = (0..plan.group.len()).filter_map(|index| match plan.part(index) {
        Part::Repeat(attempt) => Some(attempt),
        Part::Plain | Part::Claimed(_) => None,
    });
    let (callers, keys) = names(repeats);
    let mark = if columns.ids.is_empty() {
        None
    } else {
        Some(version::random_mark().map_err(|failure| Failed { failure, in_doubt: false })?)
    };
    let mark = mark.as_ref().map(<[u8; 16]>::as_slice);
    let Columns { ids, names, categories, statuses } = &columns;
    let renewal: Values<'_> = &[&mark];
    let (begun, inserted, found, renewed, committed) = tokio::join!(
        biased;
        async { if plan.leaders.is_empty() { connection.batch(BEGIN).await } else { Ok(()) } },
        async {
            if ids.is_empty() {
                return Ok(Vec::new());
            }
            connection.rows(rows::INSERT, &[ids, names, categories, statuses]).await
        },
        async {
            if keys.is_empty() {
                return Ok(Vec::new());
            }
            connection.rows(attempts::FIND, &[&callers, &keys]).await
        },
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
    committed.map_err(|failure| Failed { in_doubt: !failure.is_conflict(), failure })?;
    Ok(Written {
        outcomes: plan
            .outcomes(&inserted, &found)
            .map_err(|error| Failed::in_doubt(error.into()))?,
        seen: Seen::of(renewed.first()).ok(),
    })
}
