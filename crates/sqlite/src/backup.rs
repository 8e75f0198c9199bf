//! A backup of a store that may be in use: SQLite's backup interface copies the pages of the file within one read
//! transaction.
//!
//! After each step of 1 MiB, the backup pauses for as long as the step took. So it uses at most half of the disk's
//! time. It synchronizes the copy every 8 MiB, so a commit waits for at most 8 MiB of the copy. The write-ahead log
//! grows until the backup ends. `VACUUM INTO` would be simpler, but has neither pauses nor progress.

use std::{
    fs::File,
    io,
    ops::ControlFlow,
    path::{self, Path},
    thread,
    time::{Duration, Instant},
};

use petstore_domain::StoreCounts;
use rusqlite::{
    Connection, OpenFlags,
    backup::{Backup, StepResult},
    ffi,
};

use crate::{
    archive, config::SqliteConfig, connection::SharedMemory, error::OpenError, inspection, open,
    schema, store::SqliteStore,
};

/// The number of pages of a step: 1 MiB in pages of 4 KiB.
const STEP_PAGES: i32 = 256;
/// The number of steps between two synchronizations.
const STEPS_PER_SYNC: u32 = 8;
/// The longest time that a step waits for a lock. It waits only while another process recovers the write-ahead log.
const MAX_WAIT: Duration = Duration::from_secs(3);

/// The reason why a backup was not made.
#[derive(Debug, thiserror::Error)]
pub enum BackupError {
    /// The caller canceled the backup.
    #[error("canceled")]
    Canceled,
    /// The store could not be opened.
    #[error(transparent)]
    Open(#[from] OpenError),
    /// SQLite could not read the store or write the copy.
    #[error("cannot copy the store: {0}")]
    Sqlite(#[from] rusqlite::Error),
    /// The system could not write the copy.
    #[error("cannot write the copy: {0}")]
    Io(#[from] io::Error),
    /// The copy differs from the store, or is damaged.
    #[error("the copy is not sound ({0}); 'petstore check' examines the store")]
    Unsound(String),
}

impl SqliteStore {
    /// Copies the store at `config.path` to `to`, an empty file that no other process uses. Checks the copy and
    /// synchronizes it. Blocks the thread, for minutes if the store is large. A store with an older schema is copied
    /// unchanged.
    ///
    /// Calls `watch` after each step with the numbers of copied pages and of all pages. `watch` may cancel the backup,
    /// which leaves `to` incomplete.
    ///
    /// # Errors
    /// [`BackupError`].
    pub fn back_up(
        config: &SqliteConfig,
        to: &Path,
        watch: &mut dyn FnMut(u64, u64) -> ControlFlow<()>,
    ) -> Result<(), BackupError> {
        let path = path::absolute(&config.path)?;
        let _shared_memory = SharedMemory::guard(&path);
        let at = |reason| OpenError { path: config.path.clone(), reason };
        let known = open::open_known(&path, true).map_err(at)?;
        let (Some(_), source) = known else {
            return Err(BackupError::Unsound("an empty database".to_owned()));
        };
        // The snapshot begins with the first read, not with `BEGIN`.
        source.execute_batch("BEGIN")?;
        let counts = archive::counts(&source)?;
        copy(&source, to, &mut |done, total, took| {
            let decision = watch(done, total);
            if decision.is_continue() && done < total {
                thread::sleep(took);
            }
            decision
        })?;
        drop(source);
        verify(to, counts)?;
        Ok(File::open(to)?.sync_all()?)
    }
}

/// Copies the database of `source` to `to`. Calls `watch` after each step with the numbers of copied pages and of all
/// pages, and with the time that the step took.
pub(crate) fn copy(
    source: &Connection,
    to: &Path,
    watch: &mut dyn FnMut(u64, u64, Duration) -> ControlFlow<()>,
) -> Result<(), BackupError> {
    let file = File::open(to)?;
    source.busy_timeout(MAX_WAIT)?;
    let mut target = open(to)?;
    // An incomplete copy is useless, so it needs no journal.
    target.pragma_update(None, "journal_mode", "OFF")?;
    target.pragma_update(None, "synchronous", "OFF")?;
    let backup = Backup::new(source, &mut target)?;
    let mut steps = 0;
    loop {
        let began = Instant::now();
        let result = backup.step(STEP_PAGES)?;
        if matches!(result, StepResult::Busy | StepResult::Locked) {
            let busy = ffi::Error::new(ffi::SQLITE_BUSY);
            return Err(rusqlite::Error::SqliteFailure(busy, None).into());
        }
        steps += 1;
        if steps % STEPS_PER_SYNC == 0 {
            file.sync_data()?;
        }
        let progress = backup.progress();
        let [total, left] =
            [progress.pagecount, progress.remaining].map(|n| n.unsigned_abs().into());
        if watch(total - left, total, began.elapsed()).is_break() {
            return Err(BackupError::Canceled);
        }
        if result == StepResult::Done {
            return Ok(());
        }
    }
}

/// Checks the whole copy, and makes it a single file without a write-ahead log.
fn verify(to: &Path, expected: StoreCounts) -> Result<(), BackupError> {
    let copy = open(to)?;
    copy.query_row("PRAGMA journal_mode = DELETE", [], |_| Ok(()))?;
    if let Some(fault) = inspection::first_fault(&copy)? {
        return Err(BackupError::Unsound(fault));
    }
    schema::version(&copy).map_err(|error| BackupError::Unsound(error.to_string()))?;
    let found = archive::counts(&copy)?;
    if found == expected {
        return Ok(());
    }
    Err(BackupError::Unsound(format!("it has {found:?}, but the store has {expected:?}")))
}

fn open(path: &Path) -> rusqlite::Result<Connection> {
    let flags = OpenFlags::SQLITE_OPEN_READ_WRITE | OpenFlags::SQLITE_OPEN_NO_MUTEX;
    Connection::open_with_flags(path, flags)
}
