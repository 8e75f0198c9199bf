//! A backup of a store that may be in use.
//!
//! **What.** SQLite's backup interface copies the file page by page, within one read transaction. So the
//! copy is the store at one moment, whatever is written meanwhile, and no writer waits for it: in a
//! write-ahead log, readers and writers do not block each other.
//!
//! **Its pace.** A step copies 1 MiB; then it rests for as long as the step took. So a backup takes at most
//! half of the disk's time. Each 8 MiB are brought to the disk before the next: a commit of the service,
//! which waits for the same disk, never waits for more.
//!
//! **What it costs.** The write-ahead log cannot start anew until the backup ends. `VACUUM INTO` would also
//! write one snapshot, and a smaller file, but as one statement: without a pace, and without progress.

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
    archive::snapshot,
    config::{BusyTimeout, SqliteConfig},
    connection::{self, ReadAccess, SharedMemory},
    error::open::OpenError,
    inspection, open, schema,
    store::SqliteStore,
};

/// Pages that one step copies: 1 MiB of pages of 4 KiB.
const STEP_PAGES: i32 = 256;
/// Steps after which the copy is brought to the disk.
const STEPS_PER_SYNC: u32 = 8;
/// How long a step may wait for a lock before the backup fails: nobody else uses the copy, and a reader
/// waits only while the write-ahead log is recovered.
const MAX_WAIT: Duration = Duration::from_secs(3);

/// How far a backup has come, in pages.
#[derive(Clone, Copy, Debug)]
pub struct BackupProgress {
    /// Pages that were copied.
    pub done: u64,
    /// All pages.
    pub total: u64,
}

/// A backup was not made.
#[derive(Debug, thiserror::Error)]
pub enum BackupError {
    /// The caller asked for that.
    #[error("canceled")]
    Canceled,
    /// The store could not be opened.
    #[error(transparent)]
    Open(#[from] OpenError),
    /// The store could not be read, or the copy not be written.
    #[error("cannot copy the store: {0}")]
    Sqlite(#[from] rusqlite::Error),
    /// The copy could not be written.
    #[error("cannot write the copy: {0}")]
    Io(#[from] io::Error),
    /// The copy was read again, and it is not what the store is.
    #[error("the copy is not sound ({0}); 'petstore check' examines the store")]
    Unsound(String),
}

impl SqliteStore {
    /// Writes the store at `config.path`, as it is now, to `to`: an empty file that nobody else uses. Reads
    /// it again, and brings it to the disk. Blocks the thread, for minutes if the store is large. A store of
    /// an older schema is copied as it is.
    ///
    /// `watch` is called after each step. It may cancel the backup; what the file then holds is of no use.
    ///
    /// # Errors
    /// [`BackupError`].
    pub fn back_up(
        config: &SqliteConfig,
        to: &Path,
        watch: &mut dyn FnMut(BackupProgress) -> ControlFlow<()>,
    ) -> Result<(), BackupError> {
        let path = path::absolute(&config.path)?;
        let _shared_memory = SharedMemory::guard(&path);
        let known = open::known_version(&path, ReadAccess::ReadOnly);
        if known.map_err(|reason| OpenError { path: config.path.clone(), reason })?.is_none() {
            return Err(BackupError::Unsound("an empty database".to_owned()));
        }
        let timeout = BusyTimeout::default().reader;
        let source = connection::open_reader(&path, ReadAccess::ReadOnly, timeout)?;
        // The transaction sees the store as it is at its first read, not at its `BEGIN`.
        source.execute_batch("BEGIN")?;
        let counts = snapshot::counts(&source)?;
        copy(&source, to, &mut |progress, took| {
            let goes_on = watch(progress);
            if goes_on.is_continue() && progress.done < progress.total {
                thread::sleep(took);
            }
            goes_on
        })?;
        drop(source);
        verify(to, counts)?;
        Ok(File::open(to)?.sync_all()?)
    }
}

/// Copies the database of `source` to `to`. `watch` is told after each step how long that took.
pub(crate) fn copy(
    source: &Connection,
    to: &Path,
    watch: &mut dyn FnMut(BackupProgress, Duration) -> ControlFlow<()>,
) -> Result<(), BackupError> {
    let file = File::open(to)?;
    source.busy_timeout(MAX_WAIT)?;
    let mut target = open(to)?;
    // Until it is complete, the copy is of no use to anybody.
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
        if watch(BackupProgress { done: total - left, total }, began.elapsed()).is_break() {
            return Err(BackupError::Canceled);
        }
        if result == StepResult::Done {
            return Ok(());
        }
    }
}

/// Reads the copy again, all of it. It is then one file, without a write-ahead log beside it.
fn verify(to: &Path, expected: StoreCounts) -> Result<(), BackupError> {
    let copy = open(to)?;
    copy.query_row("PRAGMA journal_mode = DELETE", [], |_| Ok(()))?;
    if let Some(fault) = inspection::first_fault(&copy)? {
        return Err(BackupError::Unsound(fault));
    }
    schema::version(&copy).map_err(|error| BackupError::Unsound(error.to_string()))?;
    let found = snapshot::counts(&copy)?;
    if found == expected {
        Ok(())
    } else {
        let [found, expected] = [found, expected].map(|counts| {
            let StoreCounts { pets, keys, records } = counts;
            format!("{pets} animals, {keys} API keys and {records} idempotency records")
        });
        Err(BackupError::Unsound(format!("it has {found}, and not {expected}")))
    }
}

fn open(path: &Path) -> rusqlite::Result<Connection> {
    let flags = OpenFlags::SQLITE_OPEN_READ_WRITE | OpenFlags::SQLITE_OPEN_NO_MUTEX;
    Connection::open_with_flags(path, flags)
}
