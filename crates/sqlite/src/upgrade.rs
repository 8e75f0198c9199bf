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
    path::{self, Path},
    thread,
    time::{Duration, Instant},
};

use petstore_storage::{SchemaError, Step, Upgrade, UpgradeMode};
use rusqlite::{ErrorCode, Transaction, TransactionBehavior};

use crate::{
    backup::{self, BackupError},
    config::{BusyTimeout, SqliteConfig, Synchronous},
    connection::{self, ReadAccess, SharedMemory, beside},
    error::open::{OpenError, Reason, is_busy},
    open,
    schema::{self, STEPS},
    store::SqliteStore,
};

/// How long a step waits for the write lock.
const LOCK_TIMEOUT: Duration = Duration::from_secs(30);

/// How long a step that must run alone waits for other processes to close the store.
const ALONE_TIMEOUT: Duration = Duration::from_secs(3);

impl SqliteStore {
    /// Brings the schema of the store at `config.path` to this release's. Returns `None` if there is no store.
    /// Blocks the thread, for minutes if the store is large.
    ///
    /// # Errors
    /// [`OpenError`]; the message is one line that says what is wrong and how to fix it. The store is as
    /// before the step that was under way.
    pub fn upgrade(config: &SqliteConfig, mode: UpgradeMode) -> Result<Option<Upgrade>, OpenError> {
        let path = &config.path;
        let upgraded = upgrade(path, mode, &STEPS);
        upgraded.map_err(|reason| OpenError { path: path.clone(), reason })
    }
}

fn upgrade(path: &Path, mode: UpgradeMode, steps: &[Step]) -> Result<Option<Upgrade>, Reason> {
    let path = &path::absolute(path)?;
    if fs::metadata(path).map_or(true, |file| file.len() == 0) {
        return Ok(None);
    }
    let _shared_memory = SharedMemory::guard(path);
    // A file whose making was cut off can be read only by a process that may complete it.
    let access =
        if mode == UpgradeMode::DryRun { ReadAccess::ReadOnly } else { ReadAccess::Shared };
    let from = open::known_version(path, access)?;
    from.map(|from| run_steps(path, from, mode, steps)).transpose()
}

fn run_steps(path: &Path, from: i64, mode: UpgradeMode, steps: &[Step]) -> Result<Upgrade, Reason> {
    let mut upgrade = Upgrade { from, steps: Vec::new(), saved_to: None };
    let copy = beside(path, ".before-upgrade");
    let pending: Vec<_> = steps.iter().filter(|step| step.version > from).collect();
    // Nothing is begun that cannot be ended.
    for step in &pending {
        let timeout = BusyTimeout::default().reader;
        schema::refuse_offending(
            &connection::open_reader(path, ReadAccess::ReadOnly, timeout)?,
            step,
        )?;
        require_room(path, &copy)?;
    }
    if mode == UpgradeMode::Run
        && let Some(step) = pending.iter().find(|step| !step.is_compatible())
    {
        require_no_other(path, step)?;
    }
    for step in pending {
        let copy_first = upgrade.steps.is_empty().then_some(&*copy);
        if mode != UpgradeMode::DryRun && !run(path, step, copy_first)? {
            if upgrade.steps.is_empty() {
                // Another process was faster.
                upgrade.from = step.version;
            }
            continue;
        }
        upgrade.saved_to = Some(copy.display().to_string());
        upgrade.steps.push(step.describe());
    }
    Ok(upgrade)
}

/// Runs a step, and makes the copy before if one is named. Returns `false` if another process has done it.
fn run(path: &Path, step: &Step, copy: Option<&Path>) -> Result<bool, Reason> {
    let writer = connection::open_checking_writer(path, Synchronous::Full, LOCK_TIMEOUT)?;
    let transaction = Transaction::new_unchecked(&writer, TransactionBehavior::Immediate)?;
    if schema::recorded_version(&transaction)? >= step.version {
        return Ok(false);
    }
    schema::refuse_offending(&transaction, step)?;
    if let Some(copy) = copy {
        require_room(path, copy)?;
        save(path, copy).map_err(|error| Reason::Copy(error.to_string()))?;
    }
    let done = schema::apply(step, &transaction).and_then(|()| transaction.commit());
    if let (Err(error), Some(copy)) = (&done, copy)
        && error.sqlite_error_code() == Some(ErrorCode::DiskFull)
    {
        // It has the room that is missing, and nothing was committed. After another error, that may be in doubt.
        drop(fs::remove_file(copy));
    }
    Ok(done.map(|()| true)?)
}

/// A file gives its write-ahead log up only to a process that is alone. It gets a new one when it is
/// opened the next time. Waits a while for another process that is starting, or has just upgraded.
fn require_no_other(path: &Path, step: &Step) -> Result<(), Reason> {
    let began = Instant::now();
    loop {
        // Each time another one: two processes that wait must not wait for one another.
        let connection = connection::open_checking_writer(path, Synchronous::Full, LOCK_TIMEOUT)?;
        match connection.query_row("PRAGMA journal_mode = DELETE", [], |_| Ok(())) {
            Err(error) if is_busy(&error) => {}
            done => return Ok(done?),
        }
        if schema::recorded_version(&connection)? >= step.version {
            return Ok(());
        }
        drop(connection);
        if began.elapsed() >= ALONE_TIMEOUT {
            let who =
                "another process has the store open; stop it, or run 'petstore upgrade --force'";
            return Err(SchemaError::InUse { version: step.version, who }.into());
        }
        thread::sleep(Duration::from_millis(20));
    }
}

fn require_room(path: &Path, copy: &Path) -> Result<(), Reason> {
    if copy.try_exists()? && matches!(schema::check_file(copy), Err(Reason::Foreign(_))) {
        return Err(Reason::Occupied(copy.to_owned()));
    }
    let directory = path.parent().unwrap_or(path);
    let length = |path: &Path| fs::metadata(path).map_or(0, |file| file.len());
    let needed = length(path) + length(&beside(path, "-wal"));
    let room = rustix::fs::statvfs(directory).map_err(io::Error::from)?;
    let available = room.f_bavail * room.f_frsize;
    if needed > available {
        return Err(Reason::NoRoom { needed, available, directory: directory.to_owned() });
    }
    Ok(())
}

/// Copies the store as it is under the write lock. An older copy is replaced when the new one is whole.
fn save(path: &Path, copy: &Path) -> Result<(), BackupError> {
    let partial = beside(copy, ".partial");
    let mut options = OpenOptions::new();
    options.write(true).create(true).truncate(true).mode(0o600).open(&partial)?;
    let saved = (|| {
        let reader = connection::open_reader(path, ReadAccess::Shared, Duration::from_secs(3))?;
        backup::copy(&reader, &partial, &mut |_, _| ControlFlow::Continue(()))?;
        File::open(&partial)?.sync_all()?;
        fs::rename(&partial, copy)?;
        Ok(File::open(path.parent().unwrap_or(path))?.sync_all()?)
    })();
    if saved.is_err() {
        // The rest of the copy would take the room that is missing.
        drop(fs::remove_file(&partial));
    }
    saved
}

#[cfg(test)]
mod tests;
