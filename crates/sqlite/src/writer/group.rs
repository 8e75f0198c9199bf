//! Groups of additions that share a transaction, other writes, and their failures.
//!
//! The first run of a group makes no savepoints and looks for no idempotency records. After a refused row, a full disk
//! or a damaged page of the file, the group runs again. The second run makes savepoints, so that a refused addition
//! fails alone. It also looks for records, because a repeat needs no new row. If the second run meets a damaged page,
//! each addition becomes a group of its own.

use std::time::Instant;

use petstore_domain::{ArchiveError, StoreError, WriterRole};
use petstore_storage::writer::{Add, Answers};
use rusqlite::{Connection, ErrorCode};
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
    let open = || -> rusqlite::Result<Connection> {
        let connection = connection::open_writer(&pool.path, pool.synchronous, pool.busy_timeout)?;
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
    /// The connection must be replaced: its cache may hold a damaged page, or pages that never reached the disk. Or the
    /// rollback has failed.
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

/// Runs groups on one connection.
pub(crate) struct Session<'a> {
    pool: &'a Pool,
    /// The held statements, or the reason why there is no connection. Without a connection, every write fails.
    statements: Result<Statements<'a>, StoreError>,
    health: Health,
}

impl<'a> Session<'a> {
    pub(super) fn new(pool: &'a Pool, opened: &'a Result<Connection, StoreError>) -> Self {
        let statements = opened.as_ref().map(Statements::new).map_err(StoreError::clone);
        Self { pool, statements, health: Health::Sound }
    }

    /// Writes a group and the groups after it. Returns the next group if it needs a new connection; `None` when the
    /// queue is closed and empty.
    pub(super) fn run(
        &mut self,
        (mut adds, mut others): Group,
        groups: &mut Groups,
        runtime: &Handle,
    ) -> Option<Group> {
        loop {
            self.health = Health::Sound;
            if !adds.is_empty() {
                self.commit(adds, groups).send_on(runtime);
            }
            for work in others {
                // A group waits for the lock only once.
                let can_run = self.health == Health::Sound;
                let failed = || StoreError::unavailable("an earlier write of the group failed");
                work(if can_run { Ok(&mut *self) } else { Err(failed()) });
            }
            groups.ended = Instant::now();
            let next = groups.next();
            if self.health == Health::InDoubt || self.statements.is_err() {
                return next;
            }
            (adds, others) = next?;
        }
    }

    /// Writes the additions, except abandoned ones, in one transaction. If the transaction fails, all of them fail.
    /// Only after a damaged page, each addition becomes a group of its own.
    fn commit(&mut self, mut group: Vec<Add>, groups: &mut Groups) -> Answers {
        let mut done = self.add_all(&mut group, false);
        if let Err(Failure::Sqlite(error)) = &done
            && (error::is_refusal(error) || error::is_damage(error) || error::is_full(error))
        {
            done = self.add_all(&mut group, true);
        }
        let mut answers = Answers::default();
        match done {
            Ok(outcomes) => {
                if !group.is_empty() {
                    self.pool.note_commit(group.len());
                }
                for (Add { pet, reply, .. }, outcome) in group.into_iter().zip(outcomes) {
                    answers.add(reply, outcome.map(|stored| stored.answer(pet)));
                }
            }
            // SQLite cannot undo one addition alone after it has met a damaged page.
            Err(Failure::Sqlite(error)) if error::is_damage(&error) && group.len() > 1 => {
                groups.alone.extend(group);
            }
            Err(failure) => {
                let error = error::of_archive(explain(failure));
                for Add { reply, .. } in group {
                    answers.add(reply, Err(error.clone().into()));
                }
            }
        }
        answers
    }

    /// Writes the additions in one transaction, and removes the abandoned ones from `group`. Savepoints cost a copy of
    /// each changed page.
    fn add_all(
        &mut self,
        group: &mut Vec<Add>,
        with_savepoints: bool,
    ) -> Result<Vec<Outcome>, Failure> {
        self.transaction(WriterRole::Service, |statements| {
            // Callers may have left while this process waited for the lock.
            group.retain(|add| !add.reply.is_abandoned());
            let mut outcomes = Vec::with_capacity(group.len());
            for job in group.iter() {
                outcomes.push(if with_savepoints {
                    addition::add_alone(statements, job)?
                } else {
                    addition::insert(statements, job, None)?
                });
            }
            let is_new = outcomes.iter().flatten().any(|stored| stored.is_new);
            Ok((outcomes, is_new.then_some(0)))
        })
    }

    /// Runs `work` in a transaction of its own. The commit waits for the disk even with [`Synchronous::Normal`], which
    /// concerns additions alone.
    pub(super) fn write<T>(
        &mut self,
        writer: WriterRole,
        work: impl FnOnce(&mut Statements<'_>) -> Result<(T, Option<i64>), Failure>,
    ) -> Result<T, ArchiveError> {
        let connection = self.statements.as_ref().map_err(StoreError::clone)?.connection;
        let synchronous = self.pool.synchronous;
        let set = |value: Synchronous| connection.pragma_update(None, "synchronous", value as u8);
        let done = set(synchronous.max(Synchronous::Full)).map_err(Failure::from);
        let done = done.and_then(|()| self.transaction(writer, work));
        if set(synchronous).is_err() {
            self.health = Health::InDoubt;
        }
        let done = done.map_err(explain)?;
        self.pool.note_commit(1);
        Ok(done)
    }

    /// Waits for the write lock, checks that the state of the store permits `writer` to write, runs `work` and commits.
    /// If `work` has changed animals, the version is renewed and published.
    fn transaction<T>(
        &mut self,
        writer: WriterRole,
        work: impl FnOnce(&mut Statements<'_>) -> Result<(T, Option<i64>), Failure>,
    ) -> Result<T, Failure> {
        let pool = self.pool;
        let statements = self.statements.as_mut().map_err(|error| error.clone())?;
        pool.presence.check()?;
        let done = (|| {
            statements.get("BEGIN IMMEDIATE")?.execute([])?;
            // For an open store, `IS_OPEN` takes fewer instructions than reading the state.
            if writer != WriterRole::Service || !statements.get(rows::IS_OPEN)?.exists([])? {
                rows::state(statements.connection)?.permit_write(writer)?;
            }
            let (done, rewrites) = work(statements)?;
            let renewed = rewrites.map(|by| version::renew(statements, by)).transpose()?;
            let began = Instant::now();
            // After a failed commit, the writes may have taken effect, so they must not run again.
            statements.get("COMMIT")?.execute([]).map_err(Failure::Commit)?;
            if let Some(stored) = renewed {
                pool.versions.observe(stored, began);
            }
            Ok(done)
        })();
        let connection = statements.connection;
        let has_ended = connection.is_autocommit() || connection.execute_batch("ROLLBACK").is_ok();
        self.health = match &done {
            _ if !has_ended => Health::InDoubt,
            Ok(_) | Err(Failure::Answer(_)) => Health::Sound,
            Err(Failure::Sqlite(error) | Failure::Commit(error)) => Health::after(error),
        };
        // If the file was removed meanwhile, the transaction is lost.
        if done.is_ok() {
            pool.presence.check()?;
        }
        done
    }
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
