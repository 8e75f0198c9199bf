//! From the schema of an older release to that of this one.
//!
//! Each step is one transaction under the write lock, so several processes may upgrade at once, and a
//! process that dies leaves the store as before or after a step. Before the first step, and under the
//! same lock, the store is copied to one fixed name beside it: the way back to a release that cannot use
//! the new schema. The lock is held for as long as the copy takes; reads go on, writes of other processes
//! wait and are refused after their own timeout.

use std::{
    fs::{self, File, OpenOptions},
    io,
    ops::ControlFlow,
    os::unix::fs::OpenOptionsExt as _,
    path::{self, Path, PathBuf},
    time::Duration,
};

use petstore_domain::{Upgrade, UpgradeMode, UpgradeStep};
use rusqlite::{Connection, Transaction, TransactionBehavior};

use crate::{
    backup::{self, BackupError, Pace},
    config::{BusyTimeout, SqliteConfig, Synchronous},
    connection::{self, ReadAccess, beside},
    open::{self, OpenError, is_busy},
    schema::{self, STEPS, SchemaError, Step},
    store::SqliteStore,
};

/// How often the write lock is asked for, for three seconds each time.
const MAX_TRIES: u32 = 10;

/// A store was not upgraded. It is as before the step that was under way. One line says why, and how to
/// fix it.
#[derive(Debug, thiserror::Error)]
pub enum UpgradeError {
    /// The store could not be opened, or is none that can be upgraded.
    #[error(transparent)]
    Open(OpenError),
    /// SQLite failed, or the file system.
    #[error("cannot upgrade the store {}: {reason}", .path.display())]
    Failed {
        /// The database file.
        path: PathBuf,
        /// What failed.
        reason: Reason,
    },
}

/// What stands in the way.
#[derive(Debug, thiserror::Error)]
pub enum Reason {
    /// Rows break a new rule.
    #[error(
        "schema version {version} refuses {}; correct or delete these rows with SQL, and run it again",
        .rows.join(", ")
    )]
    Offending {
        /// The version that was to be reached.
        version: i32,
        /// What each of the first ten is, and why it is refused.
        rows: Vec<String>,
    },
    /// A step must run alone.
    #[error(
        "the step to schema version {0} cannot run beside an older release, and another process has the \
         store open; stop it, or run 'petstore upgrade --force'"
    )]
    InUse(i32),
    /// There is no room for the copy.
    #[error(
        "the copy that is made first needs {needed} bytes in {}, and {available} are free; free some \
         (an older copy may go), or move the store to a larger disk", .directory.display()
    )]
    NoRoom {
        /// Bytes.
        needed: u64,
        /// Bytes.
        available: u64,
        /// Where the copy belongs.
        directory: PathBuf,
    },
    /// Another file has the name of the copy.
    #[error("{} is there, and is no copy of a petstore store; move it away", .0.display())]
    Occupied(PathBuf),
    /// The copy could not be written.
    #[error("{0}")]
    Copy(#[from] BackupError),
    /// The write lock was not to be had.
    #[error(
        "another process keeps writing to it; stop that process, or try again when it has finished"
    )]
    Locked,
    /// SQLite failed.
    #[error("{0}; it is as it was: mend that, and run it again")]
    Sqlite(rusqlite::Error),
    /// The file system failed.
    #[error("{0}; it is as it was: mend that, and run it again")]
    Io(#[from] io::Error),
}

impl From<rusqlite::Error> for Reason {
    fn from(error: rusqlite::Error) -> Self {
        if is_busy(&error) { Self::Locked } else { Self::Sqlite(error) }
    }
}

impl SqliteStore {
    /// Brings the schema of the store at `config.path` to this release's. `None` if there is no store.
    /// Blocks the thread, for minutes if the store is large.
    ///
    /// # Errors
    /// [`OpenError`]; the message is one line that says what is wrong and how to fix it.
    pub fn upgrade(
        config: &SqliteConfig,
        mode: UpgradeMode,
    ) -> Result<Option<Upgrade>, UpgradeError> {
        upgrade(config, mode, &STEPS)
    }
}

fn upgrade(
    config: &SqliteConfig,
    mode: UpgradeMode,
    steps: &[Step],
) -> Result<Option<Upgrade>, UpgradeError> {
    let path = path::absolute(&config.path).unwrap_or_else(|_| config.path.clone());
    if fs::metadata(&path).map_or(true, |file| file.len() == 0) {
        return Ok(None);
    }
    // A file whose making was cut off can be read only by a process that may complete it.
    let access =
        if mode == UpgradeMode::DryRun { ReadAccess::ReadOnly } else { ReadAccess::Shared };
    let from = open::known_version(config, access).map_err(UpgradeError::Open)?;
    let upgrade = from.map(|from| run_steps(&path, from, mode, steps)).transpose();
    upgrade.map_err(|reason| UpgradeError::Failed { path, reason })
}

fn run_steps(path: &Path, from: i32, mode: UpgradeMode, steps: &[Step]) -> Result<Upgrade, Reason> {
    let mut upgrade = Upgrade { from: from.into(), steps: Vec::new(), saved_to: None };
    let copy = beside(path, ".before-upgrade");
    let pending: Vec<_> = steps.iter().filter(|step| step.version > from).collect();
    // Nothing is begun that cannot be ended.
    for step in &pending {
        look_at(path, step, &copy)?;
    }
    for step in pending {
        let copy_first = upgrade.steps.is_empty().then_some(&*copy);
        if mode != UpgradeMode::DryRun && !run(path, step, mode, copy_first)? {
            continue;
        }
        upgrade.saved_to = Some(copy.display().to_string());
        upgrade.steps.push(UpgradeStep {
            version: step.version.into(),
            summary: step.summary,
            oldest_release: step.oldest_release,
            is_compatible: step.oldest < step.version,
        });
    }
    Ok(upgrade)
}

/// Refuses what would refuse the step, and changes nothing.
fn look_at(path: &Path, step: &Step, copy: &Path) -> Result<(), Reason> {
    let timeout = BusyTimeout::default().reader;
    refuse_offending(&connection::open_reader(path, ReadAccess::ReadOnly, timeout)?, step)?;
    require_room(path, copy)
}

/// Runs a step, and makes the copy before if one is named. `false` if another process has done it.
fn run(path: &Path, step: &Step, mode: UpgradeMode, copy: Option<&Path>) -> Result<bool, Reason> {
    let timeout = BusyTimeout::default();
    let writer = connection::open_checking_writer(path, Synchronous::Full, timeout.writer)?;
    if step.oldest == step.version && mode != UpgradeMode::Force {
        require_no_other(&writer, step)?;
    }
    let transaction = begin(&writer)?;
    if schema::recorded_version(&transaction)? >= step.version {
        return Ok(false);
    }
    refuse_offending(&transaction, step)?;
    if let Some(copy) = copy {
        save(path, copy)?;
    }
    let done = step.apply(&transaction).and_then(|()| transaction.commit());
    if let (Err(_), Some(copy)) = (&done, copy) {
        // It is the store itself, and may have the room that is missing.
        drop(fs::remove_file(copy));
    }
    Ok(done.map(|()| true)?)
}

fn begin(connection: &Connection) -> rusqlite::Result<Transaction<'_>> {
    let mut tries = 0;
    loop {
        tries += 1;
        match Transaction::new_unchecked(connection, TransactionBehavior::Immediate) {
            Err(error) if is_busy(&error) && tries < MAX_TRIES => {}
            begun => return begun,
        }
    }
}

/// A file gives its write-ahead log up only to a process that is alone. It gets a new one when it is
/// opened the next time.
fn require_no_other(connection: &Connection, step: &Step) -> Result<(), Reason> {
    match connection.query_row("PRAGMA journal_mode = DELETE", [], |_| Ok(())) {
        Err(error) if is_busy(&error) => Err(Reason::InUse(step.version)),
        done => Ok(done?),
    }
}

fn refuse_offending(connection: &Connection, step: &Step) -> Result<(), Reason> {
    let rows = step.offending(connection)?;
    if rows.is_empty() {
        return Ok(());
    }
    Err(Reason::Offending { version: step.version, rows })
}

fn require_room(path: &Path, copy: &Path) -> Result<(), Reason> {
    if copy.try_exists()? && matches!(schema::check_file(copy), Err(SchemaError::Foreign(_))) {
        return Err(Reason::Occupied(copy.to_owned()));
    }
    let directory = path.parent().unwrap_or(path);
    let length = |path: &Path| fs::metadata(path).map_or(0, |file| file.len());
    let needed = length(path) + length(&beside(path, "-wal"));
    let room = rustix::fs::statvfs(directory).map_err(io::Error::from)?;
    let available = room.f_bavail * room.f_frsize;
    if needed > available {
        let directory = directory.to_owned();
        return Err(Reason::NoRoom { needed, available, directory });
    }
    Ok(())
}

/// Copies the store as it is under the write lock. An older copy is replaced when the new one is whole.
fn save(path: &Path, copy: &Path) -> Result<(), Reason> {
    require_room(path, copy)?;
    let partial = beside(copy, ".partial");
    let mut options = OpenOptions::new();
    options.write(true).create(true).truncate(true).mode(0o600).open(&partial)?;
    let saved = (|| {
        let reader = connection::open_reader(path, ReadAccess::Shared, Duration::from_secs(3))?;
        backup::copy(&reader, &partial, Pace::Full, &mut |_| ControlFlow::Continue(()))?;
        File::open(&partial)?.sync_all()?;
        fs::rename(&partial, copy)?;
        Ok(File::open(path.parent().unwrap_or(path))?.sync_all()?)
    })();
    if saved.is_err() {
        // What is left of it would take the room that is missing.
        drop(fs::remove_file(&partial));
    }
    saved.map_err(Reason::Copy)
}

#[cfg(test)]
mod tests;
