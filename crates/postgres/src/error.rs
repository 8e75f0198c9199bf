//! How a call fails, and how that becomes an error of the domain.

pub(crate) mod open;

#[cfg(test)]
mod tests;

use std::{error::Error, fmt, sync::Arc, time::Duration};

use petstore_domain::{AddError, ArchiveError, StoreError};
use petstore_storage::{error_chain, url::HostPort};
use tokio_postgres::error::{Severity, SqlState};

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
    /// An error of the server or the connection.
    #[error("{}", error_chain(.0.as_ref()))]
    Postgres(#[source] Arc<tokio_postgres::Error>),
    /// Other sessions keep locks. Holds what has happened while they did, and their names.
    #[error(
        "{0}; writes wait for {1}: end its transaction, or the session with pg_terminate_backend"
    )]
    Blocked(Box<StoreFailure>, String),
    #[error("the server asks for a password, and the URL has none")]
    NoPassword,
    /// The server has committed, but its wait for a standby was canceled.
    #[error("the server did not wait for its standby, so the commit may be lost with it")]
    NotReplicated,
    /// More calls wait for a connection than the pool takes.
    #[error("too many calls wait for a connection ({0})")]
    PoolQueueFull(usize),
    /// Every try met a concurrent change of the same rows.
    #[error("others changed the same rows too often at the same time")]
    Contention,
    /// The system has no random bytes.
    #[error("no random bytes: {0}")]
    Random(#[from] getrandom::Error),
}

/// No host could be connected to. Holds each host with what is wrong there.
#[derive(Debug)]
pub(crate) struct ConnectError(pub(crate) Vec<(HostPort, StoreFailure)>);

/// The code that a store raises that is not open, with the reason as its message.
const SEALED: &str = "PSMOV";
/// The code that an addition raises whose lock came late.
const LATE: &str = "PSLAT";

impl StoreFailure {
    /// Returns whether the server rolled the transaction back because of what others have written, so that it
    /// may be tried again: nothing was committed.
    pub(crate) fn is_conflict(&self) -> bool {
        self.has_state(&SqlState::T_R_SERIALIZATION_FAILURE)
            || self.has_state(&SqlState::T_R_DEADLOCK_DETECTED)
            || self.is_identifier_taken()
    }

    /// Returns whether an animal has been refused as another one has its identifier: the sequence is behind.
    pub(crate) fn is_identifier_taken(&self) -> bool {
        self.postgres().and_then(tokio_postgres::Error::as_db_error).is_some_and(|error| {
            *error.code() == SqlState::UNIQUE_VIOLATION && error.constraint() == Some("pet_pkey")
        })
    }

    /// Returns whether the server refuses the statement itself, and would again: neither has a concurrent
    /// transaction, a shortage or an operator ended it, nor is the store not open, nor the connection of no more use.
    pub(crate) fn is_refusal(&self) -> bool {
        let state = self.postgres().and_then(tokio_postgres::Error::code);
        let is_ours = |state: &SqlState| [SEALED, LATE].contains(&state.code());
        let is_final = |state| !is_ours(state) && !passes(state.code()) && !self.is_conflict();
        state.is_some_and(|state| is_final(state) && !self.breaks_connection())
    }

    /// Returns whether one row of many may be what the server refuses, whatever state it gives: code of an operator may
    /// raise any. Only a statement that was canceled would take as long again.
    pub(crate) fn may_be_of_a_row(&self) -> bool {
        let is_ours = self.sealed().is_some() || self.is_late() || self.is_identifier_taken();
        self.is_rolled_back() && !is_ours && !self.has_state(&SqlState::QUERY_CANCELED)
    }

    /// Returns whether the server itself has answered by an error, which rolls the transaction back, also one of its
    /// commit. A pooler names no routine, and a session that was ended may have committed.
    pub(crate) fn is_rolled_back(&self) -> bool {
        let error = self.postgres().and_then(tokio_postgres::Error::as_db_error);
        error.is_some_and(|error| {
            error.parsed_severity() == Some(Severity::Error) && error.routine().is_some()
        })
    }

    /// Returns whether the lock of an addition came late.
    pub(crate) fn is_late(&self) -> bool {
        self.sql_state().is_some_and(|state| state.code() == LATE)
    }

    /// Returns whether the same may succeed later: no server answers, or what one says passes. Of several hosts, one
    /// that may is enough.
    pub(crate) fn is_transient(&self) -> bool {
        if let Self::Connect(error) = self {
            return error.0.iter().any(|(_, failure)| failure.is_transient());
        }
        !self.lacks_tls()
            && self.sql_state().is_none_or(|state| passes(state.code()) || is_broken(state))
    }

    /// Returns whether the server does not speak TLS, which was demanded.
    pub(crate) fn lacks_tls(&self) -> bool {
        // The driver has no other sign of it.
        self.to_string().contains("server does not support TLS")
    }

    /// Returns whether the connection is of no more use: it is broken, its server is about to stop or takes no
    /// writes any more, or what was prepared on it is not valid any more.
    pub(crate) fn breaks_connection(&self) -> bool {
        match self.postgres() {
            Some(error) => error.code().is_none_or(is_broken),
            None => matches!(self, Self::Deadline(_) | Self::NotReplicated),
        }
    }

    /// Returns whether the server has answered by this state.
    pub(crate) fn has_state(&self, state: &SqlState) -> bool {
        self.sql_state() == Some(state)
    }

    /// Returns why the store was not open, so that the transaction has had no effect.
    pub(crate) fn sealed(&self) -> Option<&str> {
        let error = self.postgres()?.as_db_error()?;
        (error.code().code() == SEALED).then(|| error.message())
    }

    /// Returns what the server says, if one has answered.
    pub(crate) fn sql_state(&self) -> Option<&SqlState> {
        if let Self::Connect(error) = self {
            return error.0.iter().find_map(|(_, failure)| failure.sql_state());
        }
        let no_password = matches!(self, Self::NoPassword).then_some(&SqlState::INVALID_PASSWORD);
        self.postgres().and_then(tokio_postgres::Error::code).or(no_password)
    }

    fn postgres(&self) -> Option<&tokio_postgres::Error> {
        if let Self::Blocked(failure, _) = self {
            return failure.postgres();
        }
        if let Self::Postgres(error) = self { Some(error) } else { None }
    }
}

/// Returns whether the class of the state says that it passes: the state of a transaction or of an object, a shortage,
/// an operator, the system, a fault of the server.
pub(crate) fn passes(state: &str) -> bool {
    ["25", "53", "55", "57", "58", "XX"].iter().any(|class| state.starts_with(class))
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

impl Error for ConnectError {}

impl fmt::Display for ConnectError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let hosts = self.0.iter().map(|(host, failure)| format!("{host}: {failure}"));
        write!(f, "cannot connect ({})", hosts.collect::<Vec<_>>().join("; "))
    }
}

impl From<tokio_postgres::Error> for StoreFailure {
    fn from(error: tokio_postgres::Error) -> Self {
        // The driver has no other sign of it.
        let no_password =
            error.source().is_some_and(|cause| cause.to_string() == "password missing");
        if no_password { Self::NoPassword } else { Self::Postgres(Arc::new(error)) }
    }
}

impl From<StoreFailure> for StoreError {
    fn from(failure: StoreFailure) -> Self {
        if let Some(reason) = failure.sealed() {
            return Self::sealed(reason);
        }
        if failure.is_refusal() { Self::refused(failure) } else { Self::unavailable(failure) }
    }
}

impl From<StoreFailure> for AddError {
    fn from(failure: StoreFailure) -> Self {
        Self::Store(failure.into())
    }
}

impl From<StoreFailure> for ArchiveError {
    fn from(failure: StoreFailure) -> Self {
        Self::Store(failure.into())
    }
}
