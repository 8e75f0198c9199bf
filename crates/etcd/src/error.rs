//! The failures of calls, and the errors of the domain that they become.

use std::time::Duration;

use petstore_domain::{AddError, ArchiveError, Corruption, StoreError};
use petstore_storage::{SchemaError, opening_error, tls::TlsFailure};

use crate::{config::EtcdConfig, limits::MaxOps};

/// A call that has failed. It can be cloned, because one transaction has several callers.
#[derive(Clone, Debug, thiserror::Error)]
pub(crate) enum Failure {
    /// With the last error of each node.
    #[error("no answer from etcd within {0:?} ({1})")]
    Unreachable(Duration, String),
    /// More calls wait for a connection than can be served in time.
    #[error("no connection was free within {0:?}")]
    Busy(Duration),
    /// etcd refuses the call, and would refuse it again.
    #[error("{0}")]
    Refused(String),
    #[error("etcd takes too few operations in a transaction: start each node with --max-txn-ops={max}, its default", max = MaxOps::DEFAULT.0)]
    TooManyOps,
    #[error(
        "etcd is out of space: compact and defragment it, or raise its quota; then disarm the alarm"
    )]
    NoSpace,
    /// A snapshot is read after a compaction.
    #[error("the snapshot was compacted away: begin anew, and let etcd keep its history longer")]
    Compacted,
    /// A write was sent twice, and others have written so much since that the head does not tell whether it was made.
    #[error("whether it was written is not known: others have written too much since")]
    InDoubt,
    #[error("no answer within {0:?}")]
    Deadline(Duration),
    #[error("etcd's answer cannot be read: {0}")]
    Unreadable(String),
    #[error("no identifier is left")]
    NoIdentifier,
    /// The system has no random bytes.
    #[error("no random bytes: {0}")]
    Random(#[from] getrandom::Error),
    /// The store is not open, for this reason.
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
            | Failure::TooManyOps
            | Failure::NoSpace
            | Failure::Compacted
            | Failure::InDoubt
            | Failure::Deadline(_)
            | Failure::Unreadable(_)
            | Failure::Random(_) => Self::unavailable(failure),
        }
    }
}

/// Takes the refusal of a [rule](petstore_domain::StoreState::permit_write) of the domain.
impl From<StoreError> for Failure {
    fn from(error: StoreError) -> Self {
        match error {
            StoreError::Sealed(why) => Self::Sealed(why),
            StoreError::Corrupt(corruption) => Self::Corrupt(corruption),
            StoreError::Unavailable(_) | StoreError::Refused(_) => Self::Refused(error.to_string()),
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

/// A store could not be opened. The message is one line that says why and how to fix it, without the password.
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

    /// Returns whether there is no store, and nothing else is wrong.
    #[must_use]
    pub fn is_missing(&self) -> bool {
        matches!(self.reason, Reason::Missing)
    }

    /// Returns whether too few nodes answer: opening may succeed later without a change by the operator.
    fn may_pass(&self) -> bool {
        let Reason::Store(failure) = &self.reason else { return false };
        if matches!(failure, Failure::TooManyOps) {
            return false;
        }
        matches!(StoreError::from(failure.clone()), StoreError::Unavailable(_))
    }
}

impl From<OpenError> for StoreError {
    fn from(error: OpenError) -> Self {
        let may_pass = error.may_pass();
        opening_error(error, may_pass)
    }
}

/// The reason why a store could not be opened.
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
