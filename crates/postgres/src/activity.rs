//! What an operator may watch of a store in use.

use deadpool::Status;

use crate::store::PostgresStore;

/// How busy the pool of connections is at this moment. The connections of the writer, of the watch and of
/// changes of keys are not in the pool.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Activity {
    /// Connections that are open, or being made.
    pub connections: usize,
    /// Of them, those that no call uses.
    pub idle: usize,
    /// Calls that wait for one.
    pub waiting: usize,
}

impl PostgresStore {
    /// How busy the store is.
    #[must_use]
    pub fn activity(&self) -> Activity {
        let Status { size, available, waiting, .. } = self.pool.status();
        Activity { connections: size, idle: available, waiting }
    }
}
