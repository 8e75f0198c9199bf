//! Writes that share one transaction, on a connection that is opened anew after a failure that leaves it in doubt.
//!
//! **A job that SQLite refuses** (a unique index of the operator, a damaged page) fails alone. A statement that a
//! constraint refuses undoes itself, so most such additions have written nothing, and the group continues. If one fails
//! behind its first change, the group is rolled back and run again, each addition in a savepoint. Savepoints would cost
//! every group a copy of each page that it changes. Other writes are rare, run once, and always have one.
//!
//! **In doubt.** When a synchronisation has failed, the system may forget what it could not write and report success
//! the next time, and the connection's cache still holds it. So nothing more is written through a
//! connection on which a transaction failed, unless it was for the write lock or for space: then SQLite
//! has rolled back, and nothing is in doubt.

use std::sync::Arc;

use petstore_domain::{AddError, Added, PetId, StoreError, WriterRole};
use petstore_storage::{
    VersionCache,
    writer::{Add, Answers, Job, Work},
};
use rusqlite::{Connection, ErrorCode, MAIN_DB, ffi};

use super::{MAX_GROUP, Tally, transaction::WriteTransaction};
use crate::{
    error::{self, Failure},
    pets::{self, rows},
    presence::Presence,
    version,
};

/// The result of a job in a transaction that is still to be committed.
#[derive(Debug)]
pub(crate) enum Outcome {
    /// The animal of the job has this identifier.
    Created(PetId),
    /// It has had this identifier since an earlier request.
    Replayed(PetId),
    /// The idempotency key belongs to another animal.
    Reused,
    /// A write that is no addition has kept its result or its error.
    Done,
    /// This addition failed, and has changed nothing.
    Failed(StoreError),
}

/// Runs groups. It publishes new versions, and refuses to write when a file is lost.
pub(crate) struct Committer {
    /// Opens a connection.
    open: Box<dyn Fn() -> rusqlite::Result<Connection> + Send>,
    connection: Connection,
    /// Whether the last transaction failed so that the connection must not be used any more.
    in_doubt: bool,
    versions: Arc<VersionCache>,
    presence: Arc<Presence>,
}

impl Committer {
    /// Accepts `connection`, which was opened by `open`.
    pub(crate) fn new(
        open: impl Fn() -> rusqlite::Result<Connection> + Send + 'static,
        connection: Connection,
        versions: Arc<VersionCache>,
        presence: Arc<Presence>,
    ) -> Self {
        Self { open: Box::new(open), connection, in_doubt: false, versions, presence }
    }

    /// Runs the jobs in one transaction, but for those whose callers do not wait any more. If the transaction fails,
    /// none of them has happened.
    pub(super) fn commit(
        &mut self,
        mut group: Vec<Job<Work<Connection>>>,
        tally: &Tally,
    ) -> Answers<Work<Connection>> {
        let mut answers = Answers::default();
        match self.run(&mut group) {
            Ok(outcomes) => {
                if !outcomes.is_empty() {
                    tally.note(outcomes.len());
                }
                group.into_iter().zip(outcomes).for_each(|(job, outcome)| {
                    answer(&mut answers, job, outcome);
                });
            }
            Err(error) => group.into_iter().for_each(|job| {
                answer(&mut answers, job, Outcome::Failed(error::clone_for_caller(&error)));
            }),
        }
        answers
    }

    /// Runs the jobs. Returns the outcomes of those that are left in `group`, which are committed.
    fn run(&mut self, group: &mut Vec<Job<Work<Connection>>>) -> Result<Vec<Outcome>, StoreError> {
        self.presence.check()?;
        if self.in_doubt || !self.connection.is_autocommit() {
            self.reopen().map_err(|error| {
                StoreError::unavailable(format!("the store cannot be opened again: {error}"))
            })?;
        }
        let done = match self.transaction(group, false) {
            Ok(None) => self.transaction(group, true),
            done => done,
        };
        self.in_doubt = matches!(&done, Err(Failure::Sqlite(error) | Failure::Commit(error)) if is_in_doubt(error));
        let outcomes = done.map_err(explain)?;
        // A file that was removed meanwhile has taken the transaction with it.
        self.presence.check()?;
        Ok(outcomes.unwrap_or_default())
    }

    /// Runs the jobs in one transaction: additions first, as other writes run only once. Returns `None`, and has changed
    /// nothing, if it must be run again with a savepoint for each addition.
    fn transaction(
        &mut self,
        group: &mut Vec<Job<Work<Connection>>>,
        with_savepoints: bool,
    ) -> Result<Option<Vec<Outcome>>, Failure<StoreError>> {
        let mut transaction = WriteTransaction::begin(&mut self.connection, WriterRole::Service)?;
        // Some may have been answered while this process waited for the lock.
        group.retain(|job| !job.is_abandoned());
        group.sort_by_key(|job| matches!(job, Job::Other(_)));
        let mut outcomes = Vec::with_capacity(group.len());
        for job in group.iter_mut() {
            let connection = transaction.connection();
            let outcome = match job {
                Job::Add(add) if with_savepoints => Some(add_in_savepoint(connection, add)?),
                Job::Add(add) => add_optimistically(connection, add)?,
                Job::Other(work) => Some(run_in_savepoint(connection, work)?),
            };
            match outcome {
                Some(outcome) => outcomes.push(outcome),
                None => return Ok(None),
            }
        }
        if !outcomes.is_empty() {
            let is_new = |outcome: &Outcome| matches!(outcome, Outcome::Created(_));
            let rewrites = outcomes.iter().any(is_new).then_some(0);
            transaction.commit(rewrites, &self.versions)?;
        }
        Ok(Some(outcomes))
    }

    /// The old connection is closed when the new one has read: the last connection that is closed
    /// removes the write-ahead log.
    fn reopen(&mut self) -> rusqlite::Result<()> {
        let connection = (self.open)()?;
        if connection.is_readonly(MAIN_DB)? {
            // SQLite opens a file so that cannot be opened for writing.
            let read_only = ffi::Error::new(ffi::SQLITE_READONLY);
            return Err(rusqlite::Error::SqliteFailure(read_only, None));
        }
        match version::current(&connection) {
            Err(Failure::Sqlite(error) | Failure::Commit(error)) => return Err(error),
            Ok(_) | Err(Failure::Answer(_)) => (),
        }
        self.connection = connection;
        Ok(())
    }
}

/// Adds an animal. Returns `None` if that failed behind its first change.
fn add_optimistically(
    connection: &Connection,
    add: &Add,
) -> Result<Option<Outcome>, Failure<StoreError>> {
    let changes = connection.total_changes();
    match pets::add(connection, add, false) {
        Err(Failure::Answer(error)) => Ok(Some(Outcome::Failed(error))),
        Err(Failure::Sqlite(error)) if error::is_refusal(&error) => {
            let is_undone = connection.total_changes() == changes;
            Ok(is_undone.then(|| Outcome::Failed(error::of_statement(error))))
        }
        Err(Failure::Sqlite(error)) if is_of_one_addition(connection, &error) => Ok(None),
        outcome => outcome.map(Some),
    }
}

/// Adds an animal, and undoes what a failure leaves.
fn add_in_savepoint(connection: &Connection, add: &Add) -> Result<Outcome, Failure<StoreError>> {
    connection.execute_batch("SAVEPOINT job")?;
    let outcome = match pets::add(connection, add, true) {
        Err(Failure::Answer(error)) => Outcome::Failed(error),
        Err(Failure::Sqlite(error)) if is_of_one_addition(connection, &error) => {
            connection.execute_batch("ROLLBACK TO job")?;
            Outcome::Failed(error::of_statement(error))
        }
        outcome => outcome?,
    };
    connection.execute_batch("RELEASE job")?;
    Ok(outcome)
}

/// Runs another write, and undoes what a failure leaves.
fn run_in_savepoint(
    connection: &mut Connection,
    work: &mut Work<Connection>,
) -> Result<Outcome, Failure<StoreError>> {
    connection.execute_batch("SAVEPOINT job")?;
    if !work.run(connection) {
        connection.execute_batch("ROLLBACK TO job")?;
    }
    connection.execute_batch("RELEASE job")?;
    Ok(Outcome::Done)
}

/// Returns whether an error of SQLite is about the rows of one addition, and the rest of its group can be committed.
fn is_of_one_addition(connection: &Connection, error: &rusqlite::Error) -> bool {
    match error.sqlite_error_code() {
        Some(ErrorCode::ConstraintViolation | ErrorCode::DatabaseCorrupt) => true,
        // SQLite says so too if no identifier is left, which is asked first where there are savepoints.
        Some(ErrorCode::DiskFull) => rows::require_identifiers(connection, MAX_GROUP).is_err(),
        _ => false,
    }
}

/// Returns the error of all callers of a transaction that failed.
fn explain(failure: Failure<StoreError>) -> StoreError {
    let (end, error) = match failure {
        Failure::Answer(error) => return error,
        Failure::Commit(error) if is_in_doubt(&error) => {
            ("whether the transaction was committed is in doubt", error)
        }
        Failure::Sqlite(error) | Failure::Commit(error) => {
            ("the transaction was rolled back", error)
        }
    };
    if error::is_refusal(&error) {
        return StoreError::refused(error);
    }
    StoreError::unavailable(format!("{end}: {error}{}", error::io_step(&error)))
}

fn answer(answers: &mut Answers<Work<Connection>>, job: Job<Work<Connection>>, outcome: Outcome) {
    match job {
        Job::Add(Add { pet, reply, .. }) => match outcome {
            Outcome::Created(id) => answers.add(reply, Ok(Added::Created(pet.with_id(id)))),
            Outcome::Replayed(id) => answers.add(reply, Ok(Added::Replayed(pet.with_id(id)))),
            Outcome::Reused => answers.add(reply, Err(AddError::IdempotencyKeyReused)),
            Outcome::Failed(error) => answers.add(reply, Err(error.into())),
            Outcome::Done => {}
        },
        Job::Other(other) => answers
            .other(other, if let Outcome::Failed(error) = outcome { Err(error) } else { Ok(()) }),
    }
}

fn is_in_doubt(error: &rusqlite::Error) -> bool {
    let harmless = [
        ErrorCode::ConstraintViolation,
        ErrorCode::DatabaseBusy,
        ErrorCode::DatabaseLocked,
        ErrorCode::DiskFull,
    ];
    error.sqlite_error_code().is_none_or(|code| !harmless.contains(&code))
}
