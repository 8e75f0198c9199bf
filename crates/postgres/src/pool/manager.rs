//! Makes the connections of the pool, and says which of them may be used again.

use std::sync::{
    Arc,
    atomic::{AtomicU64, Ordering},
};

use deadpool::managed::{self, Metrics, RecycleError, RecycleResult};

use crate::{
    config::Parameters,
    connection::Connection,
    connector::{Connector, Purpose},
    error::ConnectError,
};

#[derive(Debug)]
pub(super) struct Manager {
    connector: Arc<Connector>,
    /// Grows when a connection was found broken. Those of an earlier generation are not used again.
    generation: AtomicU64,
}

/// A connection and the generation in which it was begun.
#[derive(Debug)]
pub(super) struct Member {
    pub(super) connection: Connection,
    generation: u64,
}

impl Manager {
    pub(super) fn new(connector: Arc<Connector>) -> Self {
        Self { connector, generation: AtomicU64::new(0) }
    }

    pub(super) fn parameters(&self) -> &Parameters {
        self.connector.parameters()
    }

    pub(super) fn begin_generation(&self) {
        self.generation.fetch_add(1, Ordering::AcqRel);
    }

    pub(super) fn may_be_used_again(&self, member: &Member) -> bool {
        let current = self.generation.load(Ordering::Acquire);
        member.generation == current && !member.connection.is_closed()
    }
}

impl managed::Manager for Manager {
    type Type = Member;
    type Error = Arc<ConnectError>;

    async fn create(&self) -> Result<Member, Arc<ConnectError>> {
        // Before connecting: what is found broken meanwhile may have been the same server.
        let generation = self.generation.load(Ordering::Acquire);
        Ok(Member { connection: self.connector.connect(Purpose::Calls).await?, generation })
    }

    async fn recycle(&self, member: &mut Member, _: &Metrics) -> RecycleResult<Arc<ConnectError>> {
        if self.may_be_used_again(member) { Ok(()) } else { Err(RecycleError::message("broken")) }
    }
}
