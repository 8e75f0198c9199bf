//! Reads: each a task of its own, on a connection of its own.

pub(crate) mod pool;
mod tasks;

use std::{io, sync::Arc};

use petstore_domain::StoreError;
use rusqlite::Connection;

use self::{pool::Pool, tasks::ReadTasks};
use crate::{error::Failure, presence::Presence, watch::Watch};

/// Runs reads.
#[derive(Debug)]
pub(crate) struct Readers {
    // In the order in which they are dropped: the watch has a connection of its own.
    pub(crate) watch: Watch,
    pub(crate) pool: Arc<Pool>,
    pub(crate) presence: Arc<Presence>,
    tasks: ReadTasks,
}

impl Readers {
    pub(crate) fn new(pool: Arc<Pool>, watch: Watch, presence: Arc<Presence>) -> io::Result<Self> {
        Ok(Self { watch, pool, presence, tasks: ReadTasks::start()? })
    }

    /// Runs `read`. It runs to its end, whether or not the future is polled again.
    pub(crate) async fn read<T, E>(
        &self,
        read: impl FnOnce(&Connection) -> Result<T, Failure<E>> + Send + 'static,
    ) -> Result<T, E>
    where
        T: Send + 'static,
        E: From<StoreError> + Send + 'static,
    {
        self.watch.note_use();
        if let Err(lost) = self.presence.require() {
            // One of these may have opened what is at the path now.
            self.pool.clear();
            return Err(StoreError::from(lost).into());
        }
        let pool = Arc::clone(&self.pool);
        self.tasks.run(move || pool.read(read)).await?
    }

    /// How many reads that found no worker wait or run.
    pub(crate) fn queue_length(&self) -> usize {
        self.tasks.queue_length()
    }
}
