//! One transaction for a whole group of additions. Its statements are sent at once and take one round trip. The first
//! statement takes the lock that every writer takes first. If the lock comes more than 300 ms after the start, the
//! statement fails, and nothing is written. In a second transaction, the writer waits for the lock, drops additions
//! whose callers have left, and only then sends the rest.

use std::time::Instant;

use petstore_domain::PetStatus;
use petstore_storage::VersionCache;

use super::Attempt;
use crate::{
    connection::{APPENDING, APPENDING_LOCKED, Connection},
    error::StoreFailure,
    pets::addition::{self, ADD, Outcome},
    pool::MAX_TRIES,
    values::Values,
    version,
};

/// A failed group: it was not written, or the outcome of its commit is unknown.
pub(super) struct Failed {
    pub(super) failure: StoreFailure,
    /// `true` if the group may have been committed nevertheless.
    pub(super) in_doubt: bool,
}

impl Failed {
    /// Adds the sessions that blocked the group.
    pub(super) fn blocked_by(self, sessions: Option<String>) -> Self {
        let Some(sessions) = sessions else { return self };
        Self { failure: StoreFailure::Blocked(Box::new(self.failure), sessions), ..self }
    }
}

/// For failures before the commit is sent: nothing was written.
impl<E: Into<StoreFailure>> From<E> for Failed {
    fn from(error: E) -> Self {
        Self { failure: error.into(), in_doubt: false }
    }
}

/// Writes the group, and notes the new version in `versions`. Afterwards `group` contains one addition for each
/// outcome.
pub(super) async fn write(
    connection: &Connection,
    group: &mut Vec<Attempt>,
    versions: &VersionCache,
) -> Result<Vec<Outcome>, Failed> {
    // Prepares the statements before the transaction. A statement that is prepared later would be sent after the
    // commit.
    for sql in [version::LOCK, ADD] {
        connection.bounded(connection.prepare(sql)).await?;
    }
    let written = Box::pin(transaction(connection, group, versions, false)).await;
    let is_late = written.as_ref().is_err_and(|failed| failed.failure.is_late());
    if !is_late || connection.batch("ROLLBACK").await.is_err() {
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
    Box::pin(transaction(connection, group, versions, true)).await
}

/// Sends the whole transaction, or only the part after the lock if it `is_locked` already.
async fn transaction(
    connection: &Connection,
    group: &[Attempt],
    versions: &VersionCache,
    is_locked: bool,
) -> Result<Vec<Outcome>, Failed> {
    let pets = || group.iter().map(|attempt| &attempt.add.pet);
    let names: Vec<&str> = pets().map(|pet| pet.name.as_str()).collect();
    let categories: Vec<i64> = pets().map(|pet| pet.category_id.0).collect();
    let statuses: Vec<_> = pets().map(|pet| pet.status.map(PetStatus::as_str)).collect();
    let requests = || group.iter().map(|attempt| attempt.add.request.as_ref());
    let keys: Vec<_> = requests().map(|it| it.map(|request| &request.id.0[..])).collect();
    let prints: Vec<_> =
        requests().map(|it| it.map(|request| &request.fingerprint.0[..])).collect();
    let times: Vec<_> = requests().map(|it| it.map(|request| request.at.0)).collect();
    let cutoffs: Vec<_> = requests().map(|it| it.map(|request| request.cutoff.0)).collect();
    let version = version::random()?;
    let values: Values<'_> =
        &[&names, &categories, &statuses, &keys, &prints, &times, &cutoffs, &version];
    let began = Instant::now();
    let (opened, locked, added, committed) = tokio::join!(
        biased;
        async { if is_locked { Ok(()) } else { connection.begin(APPENDING).await } },
        async { if is_locked { Ok(Vec::new()) } else { connection.query(version::LOCK, &[]).await } },
        connection.query(ADD, values),
        connection.commit(),
    );
    // A statement that the server refuses also prevents the commit. A lost answer does not.
    let refused =
        |failure: StoreFailure| Failed { in_doubt: failure.sql_state().is_none(), failure };
    opened.map_err(refused)?;
    locked.map_err(refused)?;
    let added = added.map_err(refused)?;
    committed.map_err(|failure| Failed { in_doubt: !failure.is_rolled_back(), failure })?;
    let outcomes = group.iter().enumerate().map(|(place, attempt)| match added.get(place) {
        Some(row) => addition::outcome(row, &attempt.add, attempt.tries >= MAX_TRIES),
        // `ADD` returns a row for each addition unless `petstore_state` has no row.
        None => Ok(version::from_row(None).err().map(|error| Err(error.into()))),
    });
    if let Ok(stored) = version::from_row(added.first()) {
        versions.observe(stored, began);
    }
    let outcomes = outcomes.collect::<Result<_, tokio_postgres::Error>>();
    outcomes.map_err(|error| Failed { failure: error.into(), in_doubt: true })
}
