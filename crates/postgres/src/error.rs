//! How a call fails, and how that becomes an error of the domain.

use std::{error::Error, fmt, sync::Arc, time::Duration};

use petstore_domain::{Corruption, StoreError};
use tokio_postgres::error::SqlState;

use crate::{connector::ConnectError, writer::QUEUE};

/// Why work on a connection ended early.
#[derive(Debug)]
pub(crate) enum Failure<E> {
    /// The store could not do it.
    Store(StoreFailure),
    /// The domain's answer is this error.
    Answer(E),
}

impl<E> From<StoreFailure> for Failure<E> {
    fn from(failure: StoreFailure) -> Self {
        Self::Store(failure)
    }
}

impl<E> From<tokio_postgres::Error> for Failure<E> {
    fn from(error: tokio_postgres::Error) -> Self {
        Self::Store(error.into())
    }
}

impl<E: From<StoreError>> From<Corruption> for Failure<E> {
    fn from(corruption: Corruption) -> Self {
        Self::Answer(StoreError::from(corruption).into())
    }
}

impl<E> Failure<E> {
    /// The error that the caller gets.
    pub(crate) fn into_error(self) -> E
    where
        E: From<StoreError>,
    {
        match self {
            Self::Store(failure) => StoreError::from(failure).into(),
            Self::Answer(error) => error,
        }
    }
}

/// Why the store cannot answer. Becomes the cause of an [`StoreError`].
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
    /// The server has warned during a commit: its wait for a standby was called off.
    #[error("the server did not wait for its standby, so the commit may be lost with it")]
    Doubtful,
    /// More additions wait than the server can take.
    #[error("the writer's queue is full ({QUEUE} additions wait)")]
    QueueFull,
    /// Others got in the way too often.
    #[error("others changed the same rows too often at the same time")]
    Contention,
    /// The store is being closed.
    #[error("the writer has stopped")]
    Stopped,
    /// The system has no random bytes.
    #[error("no random bytes: {0}")]
    Random(String),
}

impl From<tokio_postgres::Error> for StoreFailure {
    fn from(error: tokio_postgres::Error) -> Self {
        Self::Postgres(Arc::new(error))
    }
}

impl From<StoreFailure> for StoreError {
    fn from(failure: StoreFailure) -> Self {
        Self::unavailable(failure)
    }
}

impl StoreFailure {
    /// Whether the server rolled the transaction back because of others, so that it may be tried
    /// again: nothing was committed.
    pub(crate) fn is_conflict(&self) -> bool {
        let conflict = [&SqlState::T_R_SERIALIZATION_FAILURE, &SqlState::T_R_DEADLOCK_DETECTED];
        self.sql_state().is_some_and(|state| conflict.contains(&state))
    }

    /// Whether the connection is of no more use: it is broken, its server is about to stop or
    /// takes no writes any more, or what was prepared on it is not valid any more.
    pub(crate) fn spoils_connection(&self) -> bool {
        match self {
            Self::Deadline(_) | Self::Doubtful => true,
            Self::Postgres(error) => error.code().is_none_or(is_broken),
            Self::Busy(_)
            | Self::Connect(_)
            | Self::QueueFull
            | Self::Contention
            | Self::Stopped
            | Self::Random(_) => false,
        }
    }

    /// What the server says, if it is the server that says it.
    pub(crate) fn sql_state(&self) -> Option<&SqlState> {
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

/// The error with all of its causes, in one line.
pub(crate) fn in_full(error: &(dyn Error + 'static)) -> String {
    let mut line = error.to_string();
    let mut cause = error.source();
    while let Some(error) = cause {
        line = format!("{line}: {error}");
        cause = error.source();
    }
    line.replace('\n', " ")
}

/// `what` breaks `rule`.
pub(crate) fn corruption(what: impl fmt::Display, rule: impl fmt::Display) -> Corruption {
    Corruption { what: what.to_string(), rule: rule.to_string() }
}
