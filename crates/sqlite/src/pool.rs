//! A pool of connections that cannot write.

use std::{
    path::PathBuf,
    sync::{Mutex, MutexGuard, PoisonError},
    time::Duration,
};

use petstore_domain::StoreError;
use rusqlite::Connection;

use crate::{
    connection::{self, ReadAccess, SharedMemory},
    error::Failure,
};

/// Connections that cannot write. The pool opens a connection when a read finds no idle connection.
#[derive(Debug)]
pub(crate) struct Pool {
    pub(crate) path: PathBuf,
    pub(crate) access: ReadAccess,
    pub(crate) busy_timeout: Duration,
    /// The largest number of idle connections.
    pub(crate) max_idle: usize,
    /// The idle connections. The most recently used connection is taken first, because its page cache is warm.
    pub(crate) idle: Mutex<Vec<Connection>>,
    /// Dropped after the idle connections.
    pub(crate) _shared_memory: Option<SharedMemory>,
}

impl Pool {
    /// Opens a connection outside of the pool.
    pub(crate) fn open(&self) -> rusqlite::Result<Connection> {
        connection::open_reader(&self.path, self.access, self.busy_timeout)
    }

    /// Runs `read` on a connection. Closes the connection after an error of SQLite, because a new connection is cheap
    /// and certainly sound.
    pub(crate) fn read<T, E: From<StoreError>>(
        &self,
        read: impl FnOnce(&Connection) -> Result<T, Failure<E>>,
    ) -> Result<T, E> {
        let idle = self.idle().pop();
        let connection = idle
            .map_or_else(|| self.open(), Ok)
            .map_err(|error| Failure::Sqlite(error).into_error())?;
        let result = read(&connection);
        let mut idle = self.idle();
        if !matches!(result, Err(Failure::Sqlite(_))) && idle.len() < self.max_idle {
            idle.push(connection);
        }
        result.map_err(Failure::into_error)
    }

    /// Closes the idle connections.
    pub(crate) fn clear(&self) {
        self.idle().clear();
    }

    fn idle(&self) -> MutexGuard<'_, Vec<Connection>> {
        self.idle.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_connection_is_kept_unless_a_statement_failed_or_enough_are_idle() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("file");
        Connection::open(&path).unwrap().execute_batch("CREATE TABLE t (x)").unwrap();
        let pool = Pool {
            path,
            access: ReadAccess::Shared,
            busy_timeout: Duration::ZERO,
            max_idle: 1,
            idle: Mutex::default(),
            _shared_memory: None,
        };
        let read = |outcome| pool.read::<(), StoreError>(|_| outcome);
        assert!(read(Ok(())).is_ok() && pool.idle().len() == 1);
        // The inner read opens a second connection.
        let both = pool.read::<(), StoreError>(|_| read(Ok(())).map_err(Failure::Answer));
        assert!(both.is_ok() && pool.idle().len() == 1);
        assert!(read(Err(Failure::Answer(StoreError::refused("no")))).is_err());
        assert_eq!(pool.idle().len(), 1);
        assert!(read(Err(Failure::Sqlite(rusqlite::Error::InvalidQuery))).is_err());
        assert_eq!(pool.idle().len(), 0);
    }
}
