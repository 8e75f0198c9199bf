//! Errors of calls and of opening a store, and their conversion to errors of the domain.

#[cfg(test)]
mod tests;

use std::{error::Error as _, sync::Arc, time::Duration};

use petstore_domain::{ArchiveError, StoreError};
use petstore_storage::{SchemaError, error_chain, opening_error, tls::TlsFailure, url::HostPort};
use tokio_postgres::error::{Severity, SqlState};

use crate::config::PostgresConfig;

/// A failed call. It can be cloned, because one transaction has several callers.
#[derive(Clone, Debug, thiserror::Error)]
pub(crate) enum StoreFailure {
    /// All connections were in use for this time.
    #[error("no connection was free within {0:?}")]
    Busy(Duration),
    /// No server that takes writes can be reached. Contains the failure of each host.
    #[error("cannot connect ({})", each(.0))]
    Connect(Arc<[(HostPort, StoreFailure)]>),
    /// The server or the network was slower than this time limit.
    #[error("no answer within {0:?}")]
    Deadline(Duration),
    /// The server or the connection reported an error.
    #[error("{}", error_chain(.0.as_ref()))]
    Postgres(#[source] Arc<tokio_postgres::Error>),
    /// Other sessions hold locks. Contains the failure, and the names of the sessions.
    #[error(
        "{0}; writes wait for {1}: end its transaction, or the session with pg_terminate_backend"
    )]
    Blocked(Box<StoreFailure>, String),
    #[error("the server asks for a password, and the URL has none")]
    NoPassword,
    /// The server committed, but its wait for a standby was canceled.
    #[error("the server did not wait for its standby, so the commit may be lost with the server")]
    NotReplicated,
    /// This many calls wait for a connection, and the pool refuses further calls.
    #[error("too many calls wait for a connection ({0})")]
    PoolQueueFull(usize),
    /// Every try failed because of a concurrent change of the same rows.
    #[error("concurrent transactions changed the same rows too often")]
    Contention,
    /// The system has no random bytes.
    #[error("no random bytes: {0}")]
    Random(#[from] getrandom::Error),
}

/// Returns the failure of each host in one line.
fn each(hosts: &[(HostPort, StoreFailure)]) -> String {
    let hosts = hosts.iter().map(|(host, failure)| format!("{host}: {failure}"));
    hosts.collect::<Vec<_>>().join("; ")
}

/// The SQLSTATE that the triggers raise if the phase of the store refuses the write. The message is the reason.
const SEALED: &str = "PSMOV";
/// The SQLSTATE of an addition that got its lock too late.
const LATE: &str = "PSLAT";

impl StoreFailure {
    /// Returns whether the server rolled the transaction back because of a concurrent transaction, or because an
    /// identifier was taken. Nothing was committed, so the transaction may be tried again.
    pub(crate) fn is_conflict(&self) -> bool {
        self.sql_state().is_some_and(|state| state.code().starts_with("40"))
            || self.is_identifier_taken()
    }

    /// Returns whether an animal was refused because another animal has its identifier: the sequence is behind the
    /// rows.
    pub(crate) fn is_identifier_taken(&self) -> bool {
        self.postgres().and_then(tokio_postgres::Error::as_db_error).is_some_and(|error| {
            *error.code() == SqlState::UNIQUE_VIOLATION && error.constraint() == Some("pet_pkey")
        })
    }

    /// Returns whether the server would refuse the statement again. Returns `false` after a concurrent transaction, a
    /// shortage, an operator's command, a sealed store or a broken connection.
    pub(crate) fn is_refusal(&self) -> bool {
        let state = self.postgres().and_then(tokio_postgres::Error::code);
        let is_final = state.is_some_and(|state| !passes(state.code()));
        is_final && !self.is_conflict() && !self.breaks_connection()
    }

    /// Returns whether an addition got its lock too late. The transaction had no effect.
    pub(crate) fn is_late(&self) -> bool {
        self.sql_state().is_some_and(|state| state.code() == LATE)
    }

    /// Returns whether the server reported an error that rolls the transaction back, also during the commit. An error
    /// that names no routine is from a pooler, and proves nothing. A session that was terminated (`FATAL`) may have
    /// committed.
    pub(crate) fn is_rolled_back(&self) -> bool {
        let error = self.postgres().and_then(tokio_postgres::Error::as_db_error);
        error.is_some_and(|error| {
            error.parsed_severity() == Some(Severity::Error) && error.routine().is_some()
        })
    }

    /// Returns whether the same call may succeed later. With several hosts, one host that may answer later is enough.
    pub(crate) fn is_transient(&self) -> bool {
        if let Self::Connect(hosts) = self {
            return hosts.iter().any(|(_, failure)| failure.is_transient());
        }
        !self.lacks_tls()
            && self.sql_state().is_none_or(|state| passes(state.code()) || is_broken(state))
    }

    /// Returns whether the server does not support TLS, which `sslmode` requires.
    pub(crate) fn lacks_tls(&self) -> bool {
        // The driver has no other sign of this error.
        self.to_string().contains("server does not support TLS")
    }

    /// Returns whether the connection cannot be used again:
    /// - it is broken, or its server has not answered in time,
    /// - its server stops, accepts no writes, or did not wait for a standby,
    /// - its prepared statements are no longer valid.
    pub(crate) fn breaks_connection(&self) -> bool {
        match self.postgres() {
            Some(error) => error.code().is_none_or(is_broken),
            None => matches!(self, Self::Deadline(_) | Self::NotReplicated),
        }
    }

    /// Returns whether the server answered with this SQLSTATE.
    pub(crate) fn has_state(&self, state: &SqlState) -> bool {
        self.sql_state() == Some(state)
    }

    /// Returns the reason if the phase of the store refused the write. The transaction had no effect.
    pub(crate) fn sealed(&self) -> Option<&str> {
        let error = self.postgres()?.as_db_error()?;
        (error.code().code() == SEALED).then(|| error.message())
    }

    /// Returns the SQLSTATE with which a server answered, if any. [`Self::NoPassword`] counts as a wrong password.
    pub(crate) fn sql_state(&self) -> Option<&SqlState> {
        if let Self::Connect(hosts) = self {
            return hosts.iter().find_map(|(_, failure)| failure.sql_state());
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

/// Returns whether an SQLSTATE is of a class of temporary failures: transaction state, transaction rollback,
/// insufficient resources, object state, operator intervention, petstore's own, system error, internal error.
pub(crate) fn passes(state: &str) -> bool {
    ["25", "40", "53", "55", "57", "58", "PS", "XX"].iter().any(|class| state.starts_with(class))
}

fn is_broken(state: &SqlState) -> bool {
    let states = [
        // cached plan must not change result type; prepared statement does not exist
        &SqlState::FEATURE_NOT_SUPPORTED,
        &SqlState::INVALID_SQL_STATEMENT_NAME,
        // a primary that has become a standby
        &SqlState::READ_ONLY_SQL_TRANSACTION,
        &SqlState::IDLE_IN_TRANSACTION_SESSION_TIMEOUT,
        // after a restore, prepared statements refer to tables that were dropped
        &SqlState::UNDEFINED_TABLE,
    ];
    let code = state.code();
    // 08: the connection; 57P: the server stops, has crashed or is starting.
    states.contains(&state) || code.starts_with("08") || code.starts_with("57P")
}

impl From<tokio_postgres::Error> for StoreFailure {
    fn from(error: tokio_postgres::Error) -> Self {
        // The driver has no other sign of this error.
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

impl From<StoreFailure> for ArchiveError {
    fn from(failure: StoreFailure) -> Self {
        Self::Store(failure.into())
    }
}

/// A store could not be opened or upgraded. The message is one line with the cause and its repair, without the
/// password.
#[derive(Debug, thiserror::Error)]
#[error("cannot open the store {config}: {reason}")]
pub struct OpenError {
    pub(crate) config: PostgresConfig,
    pub(crate) reason: Reason,
}

/// The reason why a store could not be opened or upgraded.
#[derive(Debug, thiserror::Error)]
pub(crate) enum Reason {
    #[error("{failure}{remedy}", failure = .0, remedy = remedy(.0))]
    Store(#[from] StoreFailure),
    #[error(transparent)]
    Tls(#[from] TlsFailure),
    #[error(transparent)]
    Schema(#[from] SchemaError),
    #[error("no petstore store is in it")]
    Missing,
    /// The database cannot be used. The text has the cause and its repair.
    #[error("{0}")]
    Unusable(String),
}

impl OpenError {
    /// Returns whether the reason is that there is no store.
    #[must_use]
    pub fn is_missing(&self) -> bool {
        matches!(self.reason, Reason::Missing)
    }
}

/// Converts to [`StoreError::Unavailable`] if opening may succeed later without a change by the operator, for example
/// after one of these:
/// - no server that takes writes can be reached,
/// - the server starts or stops,
/// - other sessions hold locks on the tables.
impl From<OpenError> for StoreError {
    fn from(error: OpenError) -> Self {
        let may_pass = matches!(&error.reason, Reason::Store(failure) if failure.is_transient());
        opening_error(error, may_pass)
    }
}

/// Returns a remedy for the operator, which begins with `; `, or nothing.
fn remedy(failure: &StoreFailure) -> &'static str {
    let is_connecting = matches!(failure, StoreFailure::Connect(_));
    match failure.sql_state() {
        Some(state) if is_connecting && state.code().starts_with("28") => {
            "; fix the user or the password, or what the server's pg_hba.conf says of them"
        }
        Some(&SqlState::UNDEFINED_DATABASE) => "; create it with CREATE DATABASE, or name another",
        Some(&SqlState::LOCK_NOT_AVAILABLE | &SqlState::T_R_DEADLOCK_DETECTED) => {
            "; other sessions hold locks on its tables: try again later"
        }
        Some(&SqlState::TOO_MANY_CONNECTIONS) => {
            "; wait, or raise max_connections of the server, or lower pool_size"
        }
        _ if failure.lacks_tls() => {
            "; enable TLS on the server, or write ?sslmode=disable if the network can be trusted"
        }
        _ if is_connecting => {
            "; check that a server that takes writes runs there, and that the address is right"
        }
        Some(&SqlState::INSUFFICIENT_PRIVILEGE) if failure.to_string().contains("for database") => {
            "; make the schema for this role, or grant it CREATE on the database"
        }
        Some(&SqlState::INSUFFICIENT_PRIVILEGE) if failure.to_string().contains("for schema") => {
            "; grant this role CREATE on the schema, or name another with ?schema=NAME"
        }
        Some(&SqlState::INSUFFICIENT_PRIVILEGE) => {
            "; grant this role the rights of docs/POSTGRES.md on the tables and the sequence"
        }
        // If it pools statements, PgBouncer refuses BEGIN with this error.
        Some(&SqlState::PROTOCOL_VIOLATION)
            if failure.to_string().contains("statement pooling") =>
        {
            "; the pooler in front of it lends a session for one statement: set its pool_mode to \
             transaction or session"
        }
        _ => "",
    }
}
