//! SQLite's check of the file, which runs while the animals are read.
//!
//! A damaged page or index could leave animals out of what is read without an error.

use std::{thread, time::Duration};

use petstore_domain::{Corruption, StoreError};
use rusqlite::{Connection, InterruptHandle};
use tokio::task::{self, JoinHandle};

use crate::{error::Failure, file::DatabaseFile, integrity};

/// How often a check that is no longer needed is interrupted until it has ended.
const STOP_POLL: Duration = Duration::from_millis(1);

/// A check that runs, or has ended. Dropping it stops it, and waits for that.
pub(super) struct Check {
    /// `None` when its outcome was fetched.
    running: Option<JoinHandle<Result<(), StoreError>>>,
    interrupt: InterruptHandle,
}

impl Check {
    /// Begins the check, on a connection of its own. What it sees is the file as the reader sees it, or later.
    pub(super) fn begin(connection: Connection, file: DatabaseFile) -> Self {
        let interrupt = connection.get_interrupt_handle();
        let running = task::spawn_blocking(move || {
            let result = check(&connection);
            // SQLite's locks are gone before the file is closed.
            drop(connection);
            drop(file);
            result.map_err(Failure::into_error)
        });
        Self { running: Some(running), interrupt }
    }

    /// Waits for its end. What it has found first is the error, once.
    pub(super) async fn end(&mut self) -> Result<(), StoreError> {
        let Some(running) = self.running.as_mut() else { return Ok(()) };
        let result = running.await;
        self.running = None;
        result.map_err(StoreError::unavailable)?
    }
}

impl Drop for Check {
    fn drop(&mut self) {
        // The file must not stay open behind it. An interruption before SQLite has begun has no effect.
        while self.running.as_ref().is_some_and(|running| !running.is_finished()) {
            self.interrupt.interrupt();
            thread::sleep(STOP_POLL);
        }
    }
}

fn check(connection: &Connection) -> Result<(), Failure<StoreError>> {
    let Some(fault) = integrity::first_fault(connection)? else { return Ok(()) };
    Err(Corruption::new("damaged data", format_args!("SQLite's check finds no fault ({fault})"))
        .into())
}
