//! Errors of calls and of opening, and their conversion to errors of the domain.

use std::time::Duration;

use petstore_domain::{AddError, ArchiveError, Corruption, StoreError};
use petstore_storage::{SchemaError, opening_error, tls::TlsFailure};

use crate::{config::EtcdConfig, limits::MaxOps};

/// A failed call. It can be cloned, because one transaction has several callers.
#[derive(Clone, Debug, thiserror::Error)]
pub(crate) enum Failure {
    /// etcd or the network does not answer now.
    #[error("{0}")]
    Unavailable(String),
    /// etcd refuses the call, and would refuse it again.
    #[error("{0}")]
    Refused(String),
    /// etcd refuses the user. The second text is the remedy.
    #[error("{0}; {1}")]
    Denied(String, &'static str),
    #[error(
        "etcd takes too few operations in a transaction: start each node with --max-txn-ops={}, which is its default, \
         or at least {}", MaxOps::DEFAULT.0, MaxOps::MIN.0
    )]
    TooManyOps,
    #[error(transparent)]
    Corrupt(#[from] Corruption),
}

/// Parts of etcd's messages about the user of a call, each with its remedy.
const REMEDIES: [(&str, &str); 4] = [
    ("authentication failed", "fix the user or the password"),
    ("not enabled", "leave user and password out of the URL, or enable etcd's authentication"),
    ("user name is empty", "name a user in the URL: etcd://USER:PASSWORD@HOST/PREFIX"),
    (
        "permission denied",
        "grant the user's role readwrite on the prefix: \
         'etcdctl role grant-permission ROLE --prefix=true readwrite PREFIX/'",
    ),
];

/// Returns random bytes.
pub(crate) fn random<const N: usize>() -> Result<[u8; N], Failure> {
    let mut bytes = [0; N];
    let filled = getrandom::fill(&mut bytes);
    filled.map_err(|error| Failure::Unavailable(format!("no random bytes: {error}")))?;
    Ok(bytes)
}

impl Failure {
    /// Returns the failure of a call without an answer within `limit`.
    pub(crate) fn late(limit: Duration) -> Self {
        Self::Unavailable(format!("no answer within {limit:?}"))
    }

    /// Returns the failure of a call that etcd would refuse again.
    pub(crate) fn refused(message: String) -> Self {
        match REMEDIES.iter().find(|(words, _)| message.contains(words)) {
            Some((_, remedy)) => Self::Denied(message, remedy),
            None => Self::Refused(message),
        }
    }
}

impl From<Failure> for StoreError {
    fn from(failure: Failure) -> Self {
        match failure {
            Failure::Corrupt(corruption) => Self::Corrupt(corruption),
            Failure::Refused(_) => Self::refused(failure),
            Failure::Unavailable(_) | Failure::Denied(..) | Failure::TooManyOps => {
                Self::unavailable(failure)
            }
        }
    }
}

impl From<Failure> for AddError {
    fn from(failure: Failure) -> Self {
        Self::Store(failure.into())
    }
}

impl From<Failure> for ArchiveError {
    fn from(failure: Failure) -> Self {
        Self::Store(failure.into())
    }
}

/// A store could not be opened. The message is one line with the cause and its repair, without the password.
#[derive(Debug, thiserror::Error)]
#[error("cannot open the store {config}: {reason}")]
pub struct OpenError {
    config: EtcdConfig,
    reason: Reason,
}

impl OpenError {
    pub(crate) fn new(config: &EtcdConfig, reason: Reason) -> Self {
        Self { config: config.clone(), reason }
    }

    /// Returns whether the reason is that there is no store.
    #[must_use]
    pub fn is_missing(&self) -> bool {
        matches!(self.reason, Reason::Missing)
    }
}

/// Converts to [`StoreError::Unavailable`] if opening may succeed later without a change by the operator. For example,
/// too few nodes answer.
impl From<OpenError> for StoreError {
    fn from(error: OpenError) -> Self {
        let may_pass = matches!(error.reason, Reason::Store(Failure::Unavailable(_)));
        opening_error(error, may_pass)
    }
}

/// The reason why a store could not be opened.
#[derive(Debug, thiserror::Error)]
pub(crate) enum Reason {
    #[error(transparent)]
    Store(#[from] Failure),
    #[error(transparent)]
    Tls(#[from] TlsFailure),
    #[error("sslkey {0} does not match sslcert")]
    Key(String),
    #[error("no petstore store is in it")]
    Missing,
    #[error("it holds the key {0} of another program; it was left untouched: name another prefix")]
    Foreign(String),
    #[error(
        "it holds the key {key} of a petstore store whose key {head} is gone; it was left untouched: restore a \
         snapshot of etcd, or remove the rest with 'etcdctl del --prefix {prefix}'"
    )]
    Leftover { key: String, head: String, prefix: String },
    #[error(transparent)]
    Schema(#[from] SchemaError),
}
