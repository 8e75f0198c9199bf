//! Groups of additions that share a transaction, other writes, and their failures.
//!
//! The first run of a group makes no savepoints and looks for no idempotency records. After a refused row, a full disk or a
//! damaged page, the group runs again. The second run makes savepoints, so that a refused addition fails alone. It also
//! looks for records, because a repeat needs no new row. If the second run meets a damaged page, each addition runs in its
//! own transaction.

use std::time::Instant;

use petstore_domain::{ArchiveError, StoreError, WriterRole};
use petstore_storage::writer::{Add, Answers};
use rusqlite::{Connection, ErrorCode, MAIN_DB, ffi};
use tokio::runtime::Handle;

use super::{Group, Groups};
use crate::{
    config::Synchronous,
    connection::{self, Statements},
    error::{self, Failure},
    handover::rows,
    pets::addition::{self, Outcome},
    readers::Pool,
    version,
};

/// Opens a new connection and reads on it, so that closing the old connection does not remove the write-ahead log.
pub(super) fn reopen(pool: &Pool) -> Result<Connection, StoreError> {
    let open = || {
        let connection = connection::open_writer(&pool.path, pool.synchronous, pool.busy_timeout)?;
        if connection.is_readonly(MAIN_DB)? {
            // SQLite falls back to read-only access if the file cannot be opened for writing.
            let read_only = ffi::Error::new(ffi::SQLITE_READONLY);
            return Err(rusqlite::Error::SqliteFailure(read_only, None));
        }
        connection.query_row(version::SELECT, [], |_| Ok(()))?;
        Ok(connection)
    };
    pool.presence.check()?;
    open().map_err(|error| {
        StoreError::unavailable(format!("the store cannot be opened again: {error}"))
    })
}

/// The state of a connection after a transaction.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Health {
    /// The connection is usable, also after a refused row or on a full disk.
    Sound,
    /// The connection is usable, but another process held the lock for too long.
    Locked,
    /// The connection found a damaged page, and must be replaced.
    Damaged,
    /// The connection must be replaced: its cache may hold pages that never reached the disk.
    InDoubt,
}

impl Health {
    /// Returns the state after a failed transaction.
    fn after(error: &rusqlite::Error) -> Self {
        match error.sqlite_error_code() {
            Some(ErrorCode::ConstraintViolation | ErrorCode::DiskFull) => Self::Sound,
            Some(ErrorCode::DatabaseBusy | ErrorCode::DatabaseLocked) => Self::Locked,
            _ => Self::InDoubt,
        }
    }
}

/// Runs groups on one connection with held statements.
pub(crate) struct Session<'a> {
    pool: &'a Pool,
    statements: Statements<'a>,
    health: Health,
}

impl<'a> Session<'a> {
    pub(super) fn new(pool: &'a Pool, connection: &'a Connection) -> Self {
        Self { pool, statements: Statements::new(connection), health: Health::Sound }
    }

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
            self.health = Health::Sound;
            self.commit(adds).send_on(runtime);
            for work in others {
                // A group waits for the lock only once.
                let can_run = self.is_usable() && self.health != Health::Locked;
                work(if can_run { Ok(&mut *self) } else { Err(failed_before()) });
            }
            groups.ended = Instant::now();
            next = groups.next();
        }
        next
    }

    fn is_usable(&self) -> bool {
        let is_sound = matches!(self.health, Health::Sound | Health::Locked);
        is_sound && self.statements.connection.is_autocommit()
    }

    /// Writes the additions, except abandoned ones, in one transaction. If the transaction fails, no addition has taken
    /// effect. After a damaged page, each addition has its own transaction.
    fn commit(&mut self, mut group: Vec<Add>) -> Answers {
        let outcomes = match self.add_all(&mut group) {
            Ok(outcomes) => outcomes,
            Err(_) if self.health == Health::Damaged && group.len() > 1 => {
                for add in group {
                    if self.health == Health::InDoubt {
                        failed(vec![add], &failed_before()).send();
                    } else {
                        self.commit(vec![add]).send();
                    }
                }
                self.health = Health::InDoubt;
                return Answers::default();
            }
            Err(error) => return failed(group, &error),
        };
        if !group.is_empty() {
            self.pool.note_commit(group.len());
        }
        let mut answers = Answers::default();
        for (Add { pet, reply, .. }, outcome) in group.into_iter().zip(outcomes) {
            answers.add(reply, outcome.map(|stored| stored.answer(pet)));
        }
        answers
    }

    /// Runs `work` in a transaction of its own. The commit waits for the disk even with [`Synchronous::Normal`], which
    /// concerns additions alone.
    pub(super) fn write<T>(
        &mut self,
        writer: WriterRole,
        work: impl FnOnce(&mut Statements<'_>) -> Result<(T, Option<i64>), Failure>,
    ) -> Result<T, ArchiveError> {
        self.pool.presence.check()?;
        let (connection, synchronous) = (self.statements.connection, self.pool.synchronous);
        let set = |synchronous: Synchronous| {
            connection.pragma_update(None, "synchronous", synchronous.as_str())
        };
        let done = set(synchronous.max(Synchronous::Full)).map_err(Failure::from);
        let done = done.and_then(|()| {
            let transaction = WriteTransaction::begin(&mut self.statements, writer)?;
            let (done, rewrites) = work(transaction.0)?;
            transaction.commit(rewrites, self.pool)?;
            Ok(done)
        });
        let done = self.conclude(done);
        if set(synchronous).is_err() {
            self.health = Health::InDoubt;
        }
        let done = done?;
        self.pool.note_commit(1);
        Ok(done)
    }

    /// Writes the additions. Afterwards `group` contains the committed additions. Returns their outcomes.
    fn add_all(&mut self, group: &mut Vec<Add>) -> Result<Vec<Outcome>, StoreError> {
        if group.is_empty() {
            return Ok(Vec::new());
        }
        self.pool.presence.check()?;
        let mut done = self.transaction(group, false);
        if let Err(Failure::Sqlite(error)) = &done
            && (error::is_refusal(error) || is_damage(error) || error::is_full(error))
        {
            done = self.transaction(group, true);
        }
        self.conclude(done).map_err(error::of_archive)
    }

    /// Notes the state of the connection after a transaction. Returns the error for the callers.
    fn conclude<T>(&mut self, done: Result<T, Failure>) -> Result<T, ArchiveError> {
        self.health = match &done {
            Ok(_) | Err(Failure::Answer(_)) => Health::Sound,
            // After a failed commit, the additions may have taken effect, so they must not run again.
            Err(Failure::Sqlite(error)) if is_damage(error) => Health::Damaged,
            Err(Failure::Sqlite(error) | Failure::Commit(error)) => Health::after(error),
        };
        let done = done.map_err(explain)?;
        // If the file was removed meanwhile, the transaction is lost.
        self.pool.presence.check()?;
        Ok(done)
    }

    /// Writes the additions in one transaction. Savepoints cost a copy of each changed page.
    fn transaction(
        &mut self,
        group: &mut Vec<Add>,
        with_savepoints: bool,
    ) -> Result<Vec<Outcome>, Failure> {
        let transaction = WriteTransaction::begin(&mut self.statements, WriterRole::Service)?;
        // Callers may have left while this process waited for the lock.
        group.retain(|add| !add.reply.is_abandoned());
        let mut outcomes = Vec::with_capacity(group.len());
        for job in group.iter() {
            outcomes.push(addition::add(transaction.0, job, with_savepoints)?);
        }
        if !group.is_empty() {
            let is_new = outcomes.iter().flatten().any(|stored| stored.is_new);
            transaction.commit(is_new.then_some(0), self.pool)?;
        }
        Ok(outcomes)
    }
}

/// Returns the answers to additions whose transaction has failed.
pub(super) fn failed(group: Vec<Add>, error: &StoreError) -> Answers {
    let mut answers = Answers::default();
    for Add { reply, .. } in group {
        answers.add(reply, Err(error.clone().into()));
    }
    answers
}

fn failed_before() -> StoreError {
    StoreError::unavailable("an earlier write of the group failed")
}

fn is_damage(error: &rusqlite::Error) -> bool {
    error.sqlite_error_code() == Some(ErrorCode::DatabaseCorrupt)
}

/// Returns the error for all callers of a failed transaction.
fn explain(failure: Failure) -> ArchiveError {
    let (end, error) = match failure {
        Failure::Answer(error) => return error,
        Failure::Commit(error) if Health::after(&error) == Health::InDoubt => {
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

/// A write transaction. Dropping it without a commit rolls it back.
struct WriteTransaction<'a, 'c>(&'a mut Statements<'c>);

impl<'a, 'c> WriteTransaction<'a, 'c> {
    /// Waits for the write lock, and checks that the state of the store permits `writer` to write.
    fn begin(statements: &'a mut Statements<'c>, writer: WriterRole) -> Result<Self, Failure> {
        statements.get("BEGIN IMMEDIATE")?.execute([])?;
        let transaction = Self(statements);
        rows::permit_write(transaction.0, writer)?;
        Ok(transaction)
    }

    /// Commits. `rewrites` is `None` if no animal has changed, 0 if animals were only added, otherwise 1. Unless it is
    /// `None`, the version is renewed and published.
    fn commit(self, rewrites: Option<i64>, pool: &Pool) -> Result<(), Failure> {
        let renewed = rewrites.map(|rewrites| version::renew(self.0, rewrites)).transpose()?;
        let began = Instant::now();
        self.0.get("COMMIT")?.execute([]).map_err(Failure::Commit)?;
        if let Some(stored) = renewed {
            pool.versions.observe(stored, began);
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
            let shown = |failure| explain(failure).to_string();
            assert_eq!(
                shown(Failure::Commit(failed(code))).contains("in doubt"),
                in_doubt,
                "{code}"
            );
            assert!(shown(Failure::Sqlite(failed(code))).contains("rolled back"), "{code}");
        }
    }
}
