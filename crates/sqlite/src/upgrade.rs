//! The upgrade of a store from the schema of an older release.
//!
//! All steps are one transaction under the write lock, so several processes may start an upgrade at once, and a crash
//! leaves the store as it was. Before the steps, the upgrade copies the store under the same lock to a fixed name
//! beside it. The copy is the way back to the older release. During the upgrade, reads of other processes continue, and
//! their writes wait and time out.

use std::{
    fs::{self, File, OpenOptions},
    ops::ControlFlow,
    os::unix::fs::OpenOptionsExt as _,
    path::{self, Path},
    thread,
    time::{Duration, Instant},
};

use petstore_storage::{SchemaError, Step, Upgrade, UpgradeMode};
use rusqlite::{Transaction, TransactionBehavior};

use crate::{
    backup::{self, BackupError},
    config::{SqliteConfig, Synchronous},
    connection::{self, SharedMemory, beside},
    error::{OpenError, Reason, is_busy, is_full},
    open,
    schema::{self, STEPS},
    store::SqliteStore,
};

/// The longest time that the upgrade waits for the write lock.
const LOCK_TIMEOUT: Duration = Duration::from_secs(30);

/// The longest wait for other processes to close the store, before a step that must run alone.
const ALONE_TIMEOUT: Duration = Duration::from_secs(3);

impl SqliteStore {
    /// Upgrades the store at `config.path` to the schema of this release. Returns `None` if there is no store. Blocks
    /// the thread, for minutes if the store is large.
    ///
    /// # Errors
    /// [`OpenError`]. Its message is one line with the cause and its repair. The store is unchanged, except after a
    /// commit in doubt: its copy stays then.
    pub fn upgrade(config: &SqliteConfig, mode: UpgradeMode) -> Result<Option<Upgrade>, OpenError> {
        let at = |reason| OpenError { path: config.path.clone(), reason };
        upgrade(&config.path, mode, &STEPS).map_err(at)
    }
}

fn upgrade(path: &Path, mode: UpgradeMode, steps: &[Step]) -> Result<Option<Upgrade>, Reason> {
    let path = &path::absolute(path)?;
    if fs::metadata(path).map_or(true, |file| file.len() == 0) {
        return Ok(None);
    }
    let _shared_memory = SharedMemory::guard(path);
    // A run may write: after a crash while the store was created, SQLite must write before it can read the file.
    let read_only = mode == UpgradeMode::DryRun;
    let (Some(from), reader) = open::open_known(path, read_only)? else { return Ok(None) };
    let copy = beside(path, ".before-upgrade");
    let mut upgrade = Upgrade::plan(from, steps);
    if upgrade.steps.is_empty() {
        return Ok(Some(upgrade));
    }
    schema::refuse_offending(&reader, &upgrade.steps)?;
    drop(reader);
    require_place(&copy)?;
    if !read_only {
        let alone = upgrade.steps.iter().find(|step| !step.is_compatible());
        if let Some(step) = alone.filter(|_| mode == UpgradeMode::Run) {
            require_no_other(path, step)?;
        }
        upgrade = run(path, steps, &copy)?;
    }
    upgrade.saved_to = (!upgrade.steps.is_empty()).then(|| copy.display().to_string());
    Ok(Some(upgrade))
}

/// Copies the store and runs the pending steps, unless another process has run them.
fn run(path: &Path, steps: &[Step], copy: &Path) -> Result<Upgrade, Reason> {
    let writer = connection::open_checking_writer(path, Synchronous::Full, LOCK_TIMEOUT)?;
    let transaction = Transaction::new_unchecked(&writer, TransactionBehavior::Immediate)?;
    let upgrade = Upgrade::plan(schema::recorded_version(&transaction)?, steps);
    if upgrade.steps.is_empty() {
        return Ok(upgrade);
    }
    schema::refuse_offending(&transaction, &upgrade.steps)?;
    require_place(copy)?;
    save(path, copy).map_err(|error| {
        let message = format!("the copy before the upgrade was not made: {error}");
        let cause = if let BackupError::Sqlite(cause) = error { Some(cause) } else { None };
        cause.filter(is_full).map_or(Reason::Lasting(message), Reason::from)
    })?;
    let applied = upgrade.steps.iter().try_for_each(|step| schema::apply(step, &transaction));
    let done = applied.and_then(|()| transaction.commit());
    if done.as_ref().is_err_and(is_full) {
        // The copy takes up the missing space. A full disk means that nothing was committed. After other errors, the
        // commit may be in doubt, so the copy stays.
        drop(fs::remove_file(copy));
    }
    done?;
    Ok(upgrade)
}

/// Requires that no other process has the store open: only then does SQLite remove the write-ahead log. (The next
/// opening makes a new log.) Waits for up to [`ALONE_TIMEOUT`].
fn require_no_other(path: &Path, step: &Step) -> Result<(), Reason> {
    let began = Instant::now();
    loop {
        // Each attempt opens and closes a connection, so that two waiting processes do not block each other.
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

/// Fails if a file of another kind has the name of the copy.
fn require_place(copy: &Path) -> Result<(), Reason> {
    if copy.try_exists()? && matches!(schema::check_file(copy), Err(Reason::Foreign(_))) {
        let copy = copy.display();
        let message = format!("{copy} exists, and is no copy of a petstore store; move it away");
        return Err(Reason::Lasting(message));
    }
    Ok(())
}

/// Copies the store under the write lock. Replaces an older copy once the new copy is complete.
fn save(path: &Path, copy: &Path) -> Result<(), BackupError> {
    let partial = beside(copy, ".partial");
    OpenOptions::new().write(true).create(true).truncate(true).mode(0o600).open(&partial)?;
    let saved = (|| {
        let reader = connection::open_reader(path, false)?;
        backup::copy(&reader, &partial, &mut |_, _, _| ControlFlow::Continue(()))?;
        File::open(&partial)?.sync_all()?;
        fs::rename(&partial, copy)?;
        Ok(File::open(path.parent().unwrap_or(path))?.sync_all()?)
    })();
    if saved.is_err() {
        // A partial copy would take space on a full disk.
        drop(fs::remove_file(&partial));
    }
    saved
}

#[cfg(test)]
mod tests;
