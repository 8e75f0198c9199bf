//! How a call fails, and how that becomes an error of the domain.

mod connect;
mod in_full;

#[cfg(test)]
mod tests;

use std::{sync::Arc, time::Duration};

use petstore_domain::{
    AddError, AddKeyError, RestoreError, Role, RollKeyError, StoreError, Writer,
};
use tokio_postgres::error::SqlState;

pub(crate) use self::{
    connect::{ConnectError, HostFailure},
    in_full::in_full,
};

/// Why the store cannot answer. Becomes the cause of [`StoreError::Unavailable`].
#[derive(Clone, Debug, thiserror::Error)]
pub(crate) enum StoreFailure {
    /// All connections are in use.
    #[error("no connection was free within {0:?}")]
    Busy(Duration),
    /// No server, or none that takes writes.
    #[error(transparent)]
    Connect(#[from] Arc<ConnectError>),
    /// The server, or the network, is too slow.
    #[error("no answer within {0:?}")]
    Deadline(Duration),
    /// What the server or the connection says.
    #[error("{}", in_full(.0.as_ref()))]
    Postgres(#[source] Arc<tokio_postgres::Error>),
    /// The server has committed, but its wait for a standby was canceled.
    #[error("the server did not wait for its standby, so the commit may be lost with it")]
    NotReplicated,
    /// More additions wait than the writer takes.
    #[error("the writer's queue is full ({0} additions wait)")]
    QueueFull(usize),
    /// More calls wait for a connection than the pool takes.
    #[error("too many calls wait for a connection ({0})")]
    PoolQueueFull(usize),
    /// Every try met a concurrent change of the same rows.
    #[error("others changed the same rows too often at the same time")]
    Contention,
    /// The store is being closed.
    #[error("the writer has stopped")]
    Stopped,
    /// The system has no random bytes.
    #[error("no random bytes: {0}")]
    Random(String),
}

impl StoreFailure {
    /// Whether the server rolled the transaction back because of what others have written, so that it may
    /// be tried again: nothing was committed.
    pub(crate) fn is_conflict(&self) -> bool {
        let conflict = [&SqlState::T_R_SERIALIZATION_FAILURE, &SqlState::T_R_DEADLOCK_DETECTED];
        self.sql_state().is_some_and(|state| conflict.contains(&state))
            || self.is_identifier_taken()
    }

    /// Whether an animal has been refused as another one has its identifier: the sequence is behind.
    pub(crate) fn is_identifier_taken(&self) -> bool {
        let Self::Postgres(error) = self else { return false };
        error.as_db_error().is_some_and(|error| {
            *error.code() == SqlState::UNIQUE_VIOLATION && error.constraint() == Some("pet_pkey")
        })
    }

    /// Whether the server refuses the statement itself, and would again: neither has a concurrent transaction, a
    /// shortage or an operator ended it, nor is the connection of no more use.
    pub(crate) fn is_refusal(&self) -> bool {
        const PASSING: [&str; 6] = ["25", "53", "55", "57", "58", "XX"];
        self.sql_state().is_some_and(|state| {
            let passes = PASSING.iter().any(|class| state.code().starts_with(class));
            !passes && !self.is_conflict() && !self.breaks_connection()
        })
    }

    /// Whether the connection is of no more use: it is broken, its server is about to stop or
    /// takes no writes any more, or what was prepared on it is not valid any more.
    pub(crate) fn breaks_connection(&self) -> bool {
        match self {
            Self::Deadline(_) | Self::NotReplicated => true,
            Self::Postgres(error) => error.code().is_none_or(is_broken),
            Self::Busy(_)
            | Self::Connect(_)
            | Self::QueueFull(_)
            | Self::PoolQueueFull(_)
            | Self::Contention
            | Self::Stopped
            | Self::Random(_) => false,
        }
    }

    /// Whether the server has answered by this state.
    pub(crate) fn has_state(&self, state: &SqlState) -> bool {
        self.sql_state() == Some(state)
    }

    /// Whether the fence of a move has refused the transaction, so that it has had no effect.
    pub(crate) fn is_fenced(&self) -> bool {
        self.sql_state().is_some_and(|state| state.code() == FENCED)
    }

    fn sql_state(&self) -> Option<&SqlState> {
        if let Self::Postgres(error) = self { error.code() } else { None }
    }
}

fn is_broken(state: &SqlState) -> bool {
    let states = [
        // cached plan must not change result type; prepared statement does not exist
        &SqlState::FEATURE_NOT_SUPPORTED,
        &SqlState::INVALID_SQL_STATEMENT_NAME,
        // a primary that has become a standby
        &SqlState::READ_ONLY_SQL_TRANSACTION,
        &SqlState::IDLE_IN_TRANSACTION_SESSION_TIMEOUT,
        // made anew by a restore, so that what was prepared is about other tables
        &SqlState::UNDEFINED_TABLE,
    ];
    let code = state.code();
    // 08: the connection; 57P: the server stops, has crashed or is starting.
    states.contains(&state) || code.starts_with("08") || code.starts_with("57P")
}

impl From<tokio_postgres::Error> for StoreFailure {
    fn from(error: tokio_postgres::Error) -> Self {
        Self::Postgres(Arc::new(error))
    }
}

/// What the fence of a move raises, with the role of the store as its message.
const FENCED: &str = "PSMOV";

/// The refusal of the fence, if the failure is one.
fn fenced(failure: &StoreFailure) -> Option<StoreError> {
    let StoreFailure::Postgres(error) = failure else { return None };
    let error = error.as_db_error().filter(|error| error.code().code() == FENCED)?;
    let role = Role::parse(error.message()).unwrap_or(Role::Standby);
    role.permit(Writer::Service).err().or_else(|| role.permit(Writer::Follower).err())
}

impl From<StoreFailure> for StoreError {
    fn from(failure: StoreFailure) -> Self {
        if let Some(fenced) = fenced(&failure) {
            return fenced;
        }
        if failure.is_refusal() { Self::refused(failure) } else { Self::unavailable(failure) }
    }
}

/// An error of the domain that holds a [`StoreError`] comes from a [`StoreFailure`] by `?`.
macro_rules! from_store_failure {
    ($($error:ty),+) => {
        $(impl From<StoreFailure> for $error {
            fn from(failure: StoreFailure) -> Self {
                StoreError::from(failure).into()
            }
        })+
    };
}

from_store_failure!(AddError, AddKeyError, RollKeyError, RestoreError);
