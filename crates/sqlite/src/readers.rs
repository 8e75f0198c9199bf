//! Reads: on the calling thread, on a connection of their own.

use std::{
    io,
    path::PathBuf,
    sync::{Arc, Mutex, MutexGuard, PoisonError},
    time::Duration,
};

use petstore_domain::StoreError;
use rusqlite::Connection;

use crate::{
    connection,
    error::Failure,
    standing_read::{Stand, StandingRead},
};

/// Connections that wait to be used again; more than a machine has threads that read at once would
/// only hold memory.
const MOST_IDLE: usize = 64;

/// A pool of connections that cannot write. It opens as many as are in use at one time.
#[derive(Debug)]
pub(crate) struct Readers {
    path: PathBuf,
    patience: Duration,
    /// The last one put back is the first one taken: its cache is warm.
    idle: Mutex<Vec<Connection>>,
    standing: StandingRead,
}

impl Readers {
    pub(crate) fn new(path: PathBuf, patience: Duration) -> io::Result<Self> {
        let of_standing = path.clone();
        let standing =
            StandingRead::start(move || connection::open_reader(&of_standing, patience))?;
        Ok(Self { path, patience, idle: Mutex::new(Vec::new()), standing })
    }

    /// What has to give way to a writer.
    pub(crate) fn stand(&self) -> &Arc<Stand> {
        self.standing.stand()
    }

    /// A connection that is not part of the pool.
    pub(crate) fn open(&self) -> rusqlite::Result<Connection> {
        connection::open_reader(&self.path, self.patience)
    }

    /// Runs `read`. A connection on which SQLite failed is closed, whatever the cause: opening
    /// another one is cheap, and then nothing of the failure can linger.
    pub(crate) fn read<T, E: From<StoreError>>(
        &self,
        read: impl FnOnce(&Connection) -> Result<T, Failure<E>>,
    ) -> Result<T, E> {
        let unavailable = |error: rusqlite::Error| E::from(StoreError::unavailable(error));
        self.standing.want();
        let idle = self.idle().pop();
        let connection = idle.map_or_else(|| self.open(), Ok).map_err(unavailable)?;
        let result = match read(&connection) {
            Ok(value) => Ok(value),
            Err(Failure::Answer(error)) => Err(error),
            Err(Failure::Sqlite(error)) => return Err(unavailable(error)),
        };
        self.put_back(connection);
        result
    }

    fn put_back(&self, connection: Connection) {
        let mut idle = self.idle();
        if idle.len() < MOST_IDLE {
            idle.push(connection);
        }
    }

    fn idle(&self) -> MutexGuard<'_, Vec<Connection>> {
        self.idle.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
