//! How a call fails, and how that becomes an error of the domain.

use std::time::Duration;

use petstore_domain::{AddError, Corruption, RestoreError, StoreError};
use petstore_storage::{SchemaError, tls::TlsFailure};

use crate::config::EtcdConfig;

/// Why a call has failed.
#[derive(Clone, Debug, thiserror::Error)]
pub(crate) enum Failure {
    /// No node has answered in time. Holds what each one did.
    #[error("no answer from etcd within {0:?} ({1})")]
    Unreachable(Duration, String),
    /// More calls wait for a connection than can be served in time.
    #[error("no connection was free within {0:?}")]
    Busy(Duration),
    /// What etcd refuses, and would again.
    #[error("{0}")]
    Refused(String),
    #[error(
        "etcd is out of space: compact and defragment it, or raise its quota; then disarm the alarm"
    )]
    NoSpace,
    /// A snapshot that is read after a compaction.
    #[error("the snapshot was compacted away: begin anew, and let etcd keep its history longer")]
    Compacted,
    /// A write was sent twice, and so many others have written since that etcd does not tell whether it was made.
    #[error("whether it was written is not known: others have written too much since")]
    InDoubt,
    #[error("no answer within {0:?}")]
    Deadline(Duration),
    #[error("etcd's answer cannot be read: {0}")]
    Unreadable(String),
    /// More additions wait than the writer takes.
    #[error("the writer's queue is full ({0} additions wait)")]
    QueueFull(usize),
    /// The store is being closed.
    #[error("the writer has stopped")]
    Stopped,
    #[error("no identifier is left")]
    NoIdentifier,
    /// The system has no random bytes.
    #[error("no random bytes: {0}")]
    Random(#[from] getrandom::Error),
    /// Why the store is not open.
    #[error("the store {0}")]
    Sealed(String),
    #[error(transparent)]
    Corrupt(#[from] Corruption),
}

impl From<Failure> for StoreError {
    fn from(failure: Failure) -> Self {
        match failure {
            Failure::Sealed(why) => Self::Sealed(why),
            Failure::Corrupt(corruption) => Self::Corrupt(corruption),
            Failure::Refused(_) | Failure::NoIdentifier => Self::refused(failure),
            Failure::Unreachable(..)
            | Failure::Busy(_)
            | Failure::NoSpace
            | Failure::Compacted
            | Failure::InDoubt
            | Failure::Deadline(_)
            | Failure::Unreadable(_)
            | Failure::QueueFull(_)
            | Failure::Stopped
            | Failure::Random(_) => Self::unavailable(failure),
        }
    }
}

impl From<Failure> for AddError {
    fn from(failure: Failure) -> Self {
        Self::Store(failure.into())
    }
}

impl From<Failure> for RestoreError {
    fn from(failure: Failure) -> Self {
        Self::Store(failure.into())
    }
}

/// A store could not be opened. One line says why, and how to fix it; the password is not in it.
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

    /// Returns whether there is no store yet, so that another way of opening would create one.
    #[must_use]
    pub fn is_missing(&self) -> bool {
        matches!(self.reason, Reason::Missing)
    }

    /// Returns whether opening may succeed later though nobody changes the URL or the store: too few nodes answer.
    fn is_transient(&self) -> bool {
        let Reason::Store(failure) = &self.reason else { return false };
        matches!(StoreError::from(failure.clone()), StoreError::Unavailable(_))
    }
}

/// Unavailable if opening may succeed later, else refused.
impl From<OpenError> for StoreError {
    fn from(error: OpenError) -> Self {
        if error.is_transient() { Self::unavailable(error) } else { Self::refused(error) }
    }
}

/// What is wrong with the nodes or with what is there.
#[derive(Debug, thiserror::Error)]
pub(crate) enum Reason {
    #[error("{failure}{remedy}", failure = .0, remedy = remedy(.0))]
    Store(#[from] Failure),
    #[error(transparent)]
    Tls(#[from] TlsFailure),
    #[error("sslkey {0} does not fit sslcert")]
    Key(String),
    #[error("no petstore store is in it")]
    Missing,
    #[error("it holds the key {0} of somebody else; it was left untouched: name another prefix")]
    Foreign(String),
    #[error(transparent)]
    Schema(#[from] SchemaError),
}

/// Returns what an operator can do about the failure.
fn remedy(failure: &Failure) -> &'static str {
    if let Failure::Unreachable(..) = failure {
        return "; see that most nodes run and reach each other, and that the addresses and sslmode are right";
    }
    let Failure::Refused(message) = failure else { return "" };
    let remedies = [
        ("authentication failed", "; fix the user or the password"),
        (
            "not enabled",
            "; leave user and password out of the URL, or enable etcd's authentication",
        ),
        ("user name is empty", "; name a user in the URL: etcd://USER:PASSWORD@HOST/PREFIX"),
        (
            "permission denied",
            "; grant the user's role readwrite on the prefix: \
             'etcdctl role grant-permission ROLE --prefix=true readwrite PREFIX/'",
        ),
    ];
    let remedy = remedies.iter().find(|(words, _)| message.contains(words));
    remedy.map_or("", |(_, remedy)| remedy)
}
