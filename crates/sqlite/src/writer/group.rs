//! Groups of additions that share a transaction, other writes, and their failures.
//!
//! - A refused addition fails alone. If the addition has written a row, the group runs again with a savepoint for each
//!   addition.
//! - The first run of a group looks for no idempotency record. If it fails, an addition with a key may be a repeat, which
//!   needs no new row. So the group runs again with savepoints, and looks for the records.
//! - After a damaged page, each addition runs in its own transaction, so that only additions that need the page fail.
//! - After other failures, the connection is in doubt and replaced: its cache may hold pages that never reached the disk.

use std::{sync::Arc, time::Instant};

use petstore_domain::{AddError, StoreError, WriterRole};
use petstore_storage::{
    VersionCache,
    writer::{Add, Answers},
};
use rusqlite::{Connection, ErrorCode, MAIN_DB, ffi};
use tokio::runtime::Handle;

use super::{Group, Groups, MAX_GROUP, Tally, Work};
use crate::{
    config::Synchronous,
    connection::Statements,
    error::{self, Failure, open::is_busy},
    handover::rows as handover,
    pets::{
        addition::{self, Stored},
        rows,
    },
    presence::Presence,
    version,
};

type Outcome = Result<Stored, AddError>;

/// The parts of the writer that outlast a connection.
pub(crate) struct Committer {
    /// Opens a new connection.
    pub(crate) open: Box<dyn Fn() -> rusqlite::Result<Connection> + Send>,
    /// The durability of additions.
    pub(crate) synchronous: Synchronous,
    pub(crate) versions: Arc<VersionCache>,
    pub(crate) presence: Arc<Presence>,
    pub(crate) tally: Arc<Tally>,
}

impl Committer {
    /// Makes a session on `connection`.
    pub(super) fn session<'a>(&'a self, connection: &'a Connection) -> Session<'a> {
        let statements = Statements::new(connection);
        Session {
            committer: self,
            statements,
            in_doubt: false,
            is_damaged: false,
            is_locked: false,
        }
    }

    /// Opens a new connection and reads on it, so that closing the old connection does not remove the write-ahead log.
    pub(super) fn reopen(&self) -> Result<Connection, StoreError> {
        self.presence.check()?;
        self.try_to_open().map_err(|error| {
            StoreError::unavailable(format!("the store cannot be opened again: {error}"))
        })
    }

    fn try_to_open(&self) -> rusqlite::Result<Connection> {
        let connection = (self.open)()?;
        if connection.is_readonly(MAIN_DB)? {
            // SQLite falls back to read-only access if the file cannot be opened for writing.
            let read_only = ffi::Error::new(ffi::SQLITE_READONLY);
            return Err(rusqlite::Error::SqliteFailure(read_only, None));
        }
        connection.query_row(version::SELECT, [], |_| Ok(()))?;
        Ok(connection)
    }
}

/// Runs groups on one connection with held statements.
pub(super) struct Session<'a> {
    committer: &'a Committer,
    statements: Statements<'a>,
    /// `true` if the last transaction failed and the connection must not be used again.
    in_doubt: bool,
    /// `true` if the last transaction found a damaged page.
    is_damaged: bool,
    /// `true` if the last transaction timed out while another process held the lock.
    is_locked: bool,
}

impl Session<'_> {
    /// Writes `first` and the groups after it. Returns the next group if it needs a new connection; `None` when the queue is
    /// closed and empty.
    pub(super) fn run(
        &mut self,
        first: Group,
        groups: &mut Groups,
        runtime: &Handle,
    ) -> Option<Group> {
        let mut next = Some(first);
        while self.is_usable()
            && let Some((adds, others)) = next
        {
            self.commit(adds).send_on(runtime);
            for work in others {
                self.run_other(work);
            }
            groups.ended = Instant::now();
            next = groups.next();
        }
        next
    }

    fn is_usable(&self) -> bool {
        !self.in_doubt && self.statements.connection.is_autocommit()
    }

    /// Runs a write of a group. Fails the write if an earlier write of the group has failed, so that a group waits for the
    /// lock once.
    fn run_other(&mut self, work: Work) {
        let can_run = self.is_usable() && !self.is_locked;
        let failed = || StoreError::unavailable("an earlier write of the group failed");
        work(if can_run { Ok(self) } else { Err(failed()) });
    }

    /// Writes the additions, except abandoned ones, in one transaction. If the transaction fails, no addition has taken
    /// effect. After a damaged page, each addition has its own transaction.
    fn commit(&mut self, mut group: Vec<Add>) -> Answers {
        self.is_locked = false;
        if group.is_empty() {
            return Answers::default();
        }
        let outcomes = match self.add_all(&mut group) {
            Ok(outcomes) => outcomes,
            Err(_) if self.is_damaged && group.len() > 1 => {
                for add in group {
                    if self.in_doubt && !self.is_damaged {
                        let failed_before =
                            StoreError::unavailable("an earlier write of the group failed");
                        failed(vec![add], &failed_before).send();
                    } else {
                        self.commit(vec![add]).send();
                    }
                }
                self.in_doubt = true;
                return Answers::default();
            }
            Err(error) => return failed(group, &error),
        };
        if !group.is_empty() {
            self.committer.tally.note(group.len());
        }
        let mut answers = Answers::default();
        for (Add { pet, reply, .. }, outcome) in group.into_iter().zip(outcomes) {
            answers.add(reply, outcome.map(|stored| stored.answer(pet)));
        }
        answers
    }

    /// Runs `work` in a transaction of its own. The commit waits for the disk even with [`Synchronous::Normal`], which
    /// concerns additions alone.
    pub(super) fn write<T, E: From<StoreError>>(
        &mut self,
        writer: WriterRole,
        work: impl FnOnce(&mut Statements<'_>) -> Result<(T, Option<i64>), Failure<E>>,
    ) -> Result<T, E> {
        self.committer.presence.check()?;
        let (connection, synchronous) = (self.statements.connection, self.committer.synchronous);
        let set = |synchronous: Synchronous| {
            connection.pragma_update(None, "synchronous", synchronous.as_str())
        };
        let done = set(synchronous.max(Synchronous::Full)).map_err(Failure::from);
        let done = done.and_then(|()| {
            let mut transaction = WriteTransaction::begin(&mut self.statements, writer)?;
            let (done, rewrites) = work(transaction.statements())?;
            transaction.commit(rewrites, &self.committer.versions)?;
            Ok(done)
        });
        let done = self.conclude(done);
        self.in_doubt |= set(synchronous).is_err();
        let done = done?;
        self.committer.tally.note(1);
        Ok(done)
    }

    /// Writes the additions. Afterwards `group` contains the committed additions. Returns their outcomes.
    fn add_all(&mut self, group: &mut Vec<Add>) -> Result<Vec<Outcome>, StoreError> {
        self.committer.presence.check()?;
        let mut done = self.transaction(group, false);
        if let Err(Failure::Sqlite(error)) = &done {
            let may_be_repeat = group.iter().any(|add| add.request.is_some());
            let is_full = error.sqlite_error_code() == Some(ErrorCode::DiskFull);
            if is_of_one_addition(self.statements.connection, error)
                || may_be_repeat && (is_full || is_damage(error))
            {
                done = self.transaction(group, true);
            }
        }
        self.conclude(done)
    }

    /// Notes the state of the connection after a transaction. Returns the error for the callers.
    fn conclude<T, E: From<StoreError>>(&mut self, done: Result<T, Failure<E>>) -> Result<T, E> {
        let error = match &done {
            Err(Failure::Sqlite(error) | Failure::Commit(error)) => Some(error),
            Ok(_) | Err(Failure::Answer(_)) => None,
        };
        self.in_doubt = error.is_some_and(is_in_doubt);
        self.is_locked = error.is_some_and(is_busy);
        // After a failed commit, the additions may have taken effect, so they must not run again.
        self.is_damaged = matches!(&done, Err(Failure::Sqlite(error)) if is_damage(error));
        let done = done.map_err(explain)?;
        // If the file was removed meanwhile, the transaction is lost.
        self.committer.presence.check()?;
        Ok(done)
    }

    /// Writes the additions in one transaction. Savepoints cost a copy of each changed page.
    fn transaction(
        &mut self,
        group: &mut Vec<Add>,
        with_savepoints: bool,
    ) -> Result<Vec<Outcome>, Failure<StoreError>> {
        let mut transaction = WriteTransaction::begin(&mut self.statements, WriterRole::Service)?;
        // Callers may have left while this process waited for the lock.
        group.retain(|add| !add.reply.is_abandoned());
        let mut outcomes = Vec::with_capacity(group.len());
        for job in group.iter() {
            outcomes.push(add(transaction.statements(), job, with_savepoints)?);
        }
        if !group.is_empty() {
            let is_new = outcomes.iter().flatten().any(|stored| stored.is_new);
            transaction.commit(is_new.then_some(0), &self.committer.versions)?;
        }
        Ok(outcomes)
    }
}

/// Returns the answers to additions whose transaction has failed.
pub(super) fn failed(group: Vec<Add>, error: &StoreError) -> Answers {
    let mut answers = Answers::default();
    for Add { reply, .. } in group {
        answers.add(reply, Err(error::copy(error).into()));
    }
    answers
}

/// Adds an animal. Fails if the whole transaction must be rolled back:
/// - The failure is not a refusal.
/// - No savepoint can undo the changes of this addition.
/// - The addition may be a repeat, whose record nobody has looked for.
fn add(
    statements: &mut Statements<'_>,
    job: &Add,
    with_savepoint: bool,
) -> rusqlite::Result<Outcome> {
    let connection = statements.connection;
    let changes = connection.total_changes();
    if with_savepoint {
        connection.execute_batch("SAVEPOINT job")?;
    }
    let outcome = match addition::add(statements, job, with_savepoint) {
        Ok(stored) => Ok(stored),
        // Nothing was written yet.
        Err(Failure::Answer(error)) => Err(error),
        Err(Failure::Sqlite(error) | Failure::Commit(error)) => {
            if with_savepoint && is_of_one_addition(connection, &error) {
                connection.execute_batch("ROLLBACK TO job")?;
            } else {
                let has_changed = connection.total_changes() != changes;
                if has_changed || job.request.is_some() || !error::is_refusal(&error) {
                    return Err(error);
                }
            }
            Err(error::of_write(connection, error).into())
        }
    };
    if with_savepoint {
        connection.execute_batch("RELEASE job")?;
    }
    Ok(outcome)
}

/// Returns whether an error concerns one addition alone, so that the rest of its group can be committed.
fn is_of_one_addition(connection: &Connection, error: &rusqlite::Error) -> bool {
    // SQLite also reports a full disk if no identifier is left.
    let is_full = error.sqlite_error_code() == Some(ErrorCode::DiskFull);
    error::is_refusal(error) || is_full && rows::require_identifiers(connection, MAX_GROUP).is_err()
}

fn is_damage(error: &rusqlite::Error) -> bool {
    error.sqlite_error_code() == Some(ErrorCode::DatabaseCorrupt)
}

/// Returns the error for all callers of a failed transaction.
fn explain<E: From<StoreError>>(failure: Failure<E>) -> E {
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
        return StoreError::refused(error).into();
    }
    StoreError::unavailable(format!("{end}: {error}")).into()
}

/// Returns whether the connection is in doubt. After a refused row, a lock timeout or a full disk, the connection
/// stays usable.
fn is_in_doubt(error: &rusqlite::Error) -> bool {
    let harmless = [
        ErrorCode::ConstraintViolation,
        ErrorCode::DatabaseBusy,
        ErrorCode::DatabaseLocked,
        ErrorCode::DiskFull,
    ];
    error.sqlite_error_code().is_none_or(|code| !harmless.contains(&code))
}

/// A write transaction. Dropping it without a commit rolls it back.
struct WriteTransaction<'a, 'c>(&'a mut Statements<'c>);

impl<'a, 'c> WriteTransaction<'a, 'c> {
    /// Waits for the write lock, and checks that the state of the store permits `writer` to write.
    fn begin<E: From<StoreError>>(
        statements: &'a mut Statements<'c>,
        writer: WriterRole,
    ) -> Result<Self, Failure<E>> {
        statements.get("BEGIN IMMEDIATE")?.execute([])?;
        let transaction = Self(statements);
        handover::permit_write(transaction.0, writer)?;
        Ok(transaction)
    }

    /// Returns the statements of the connection.
    fn statements(&mut self) -> &mut Statements<'c> {
        self.0
    }

    /// Commits. `rewrites` is `None` if no animal has changed, 0 if animals were only added, otherwise 1. Unless it is
    /// `None`, the version is renewed and published.
    fn commit<E: From<StoreError>>(
        self,
        rewrites: Option<i64>,
        versions: &VersionCache,
    ) -> Result<(), Failure<E>> {
        let renewed = rewrites.map(|rewrites| version::renew(self.0, rewrites)).transpose()?;
        let began = Instant::now();
        self.0.get("COMMIT")?.execute([]).map_err(Failure::Commit)?;
        if let Some(stored) = renewed {
            versions.observe(stored, began);
        }
        Ok(())
    }
}

impl Drop for WriteTransaction<'_, '_> {
    fn drop(&mut self) {
        let connection = self.0.connection;
        if !connection.is_autocommit() {
            // If the rollback fails, the writer opens a new connection.
            let _ = connection.execute_batch("ROLLBACK");
        }
    }
}

#[cfg(test)]
mod tests {
    use petstore_domain::StoreError;
    use rusqlite::{Error, ffi};

    use super::{Failure, explain};

    #[test]
    fn only_a_commit_with_an_unknown_outcome_is_in_doubt() {
        let failed = |code| Error::SqliteFailure(ffi::Error::new(code), None);
        for (code, in_doubt) in [
            (ffi::SQLITE_IOERR, true),
            (ffi::SQLITE_CORRUPT, true),
            (ffi::SQLITE_FULL, false),
            (ffi::SQLITE_BUSY, false),
            (ffi::SQLITE_LOCKED, false),
        ] {
            let shown = |failure| explain::<StoreError>(failure).to_string();
            assert_eq!(
                shown(Failure::Commit(failed(code))).contains("in doubt"),
                in_doubt,
                "{code}"
            );
            assert!(shown(Failure::Sqlite(failed(code))).contains("rolled back"), "{code}");
        }
    }
}
