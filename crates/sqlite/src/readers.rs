//! Reads: on the calling thread, on a connection of their own.

use std::{
    io,
    path::{Path, PathBuf},
    sync::{Mutex, MutexGuard, PoisonError},
    time::Duration,
};

use petstore_domain::StoreError;
use rusqlite::Connection;

use crate::{
    connection,
    error::Failure,
    read_lock::{ReadLock, WritePauses},
};

/// Connections that wait to be used again; more than a machine has threads that read at once would
/// only hold memory.
const MAX_IDLE: usize = 64;

/// A pool of connections that cannot write. It opens as many as are in use at one time.
#[derive(Debug)]
pub(crate) struct Readers {
    path: PathBuf,
    busy_timeout: Duration,
    /// The last one put back is the first one taken: its page cache is warm.
    idle: Mutex<Vec<Connection>>,
    pub(crate) read_lock: ReadLock,
}

impl Readers {
    pub(crate) fn new(path: PathBuf, busy_timeout: Duration) -> io::Result<Self> {
        let locked = path.clone();
        let read_lock = ReadLock::start(move || connection::open_reader(&locked, busy_timeout))?;
        Ok(Self { path, busy_timeout, idle: Mutex::new(Vec::new()), read_lock })
    }

    /// For the writer: ends the readers' lock for the time of a write.
    pub(crate) fn write_pauses(&self) -> WritePauses {
        self.read_lock.write_pauses()
    }

    pub(crate) fn path(&self) -> &Path {
        &self.path
    }

    /// A connection that is not part of the pool.
    pub(crate) fn open(&self) -> rusqlite::Result<Connection> {
        connection::open_reader(&self.path, self.busy_timeout)
    }

    /// Runs `read`. A connection on which SQLite failed is closed, whatever the cause: opening
    /// another one is cheap, and then nothing of the failure can linger.
    pub(crate) fn read<T, E: From<StoreError>>(
        &self,
        read: impl FnOnce(&Connection) -> Result<T, Failure<E>>,
    ) -> Result<T, E> {
        self.read_lock.note_read();
        let idle = self.idle().pop();
        let connection = idle
            .map_or_else(|| self.open(), Ok)
            .map_err(|error| Failure::Sqlite(error).into_error())?;
        let result = read(&connection);
        if !matches!(result, Err(Failure::Sqlite(_))) {
            self.put_back(connection);
        }
        result.map_err(Failure::into_error)
    }

    fn put_back(&self, connection: Connection) {
        let mut idle = self.idle();
        if idle.len() < MAX_IDLE {
            idle.push(connection);
        }
    }

    fn idle(&self) -> MutexGuard<'_, Vec<Connection>> {
        self.idle.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
