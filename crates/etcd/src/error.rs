//! Errors of calls and of opening.

use petstore_domain::StoreError;
use petstore_storage::{SchemaError, opening_error, tls::TlsFailure};

use crate::{config::EtcdConfig, limits::MaxOps};

/// The causes of [`StoreError::Unavailable`] that this crate distinguishes.
#[derive(Debug, thiserror::Error)]
pub(crate) enum Cause {
    /// etcd refuses the user. The second text is the remedy.
    #[error("{0}; {1}")]
    Denied(String, &'static str),
    #[error(
        "etcd takes too few operations in a transaction: start each node with --max-txn-ops={}, which is its default, \
         or at least {}", MaxOps::DEFAULT.0, MaxOps::MIN.0
    )]
    TooManyOps,
}

/// Returns whether a transaction had more operations than etcd takes.
pub(crate) fn is_too_many_ops(error: &StoreError) -> bool {
    let StoreError::Unavailable(cause) = error else { return false };
    matches!(cause.downcast_ref(), Some(Cause::TooManyOps))
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

/// Returns the error of a call that etcd would refuse again.
pub(crate) fn refused(message: String) -> StoreError {
    match REMEDIES.iter().find(|(words, _)| message.contains(words)) {
        Some((_, remedy)) => StoreError::unavailable(Cause::Denied(message, remedy)),
        None => StoreError::refused(message),
    }
}

/// A store could not be opened. The message is one line with the cause, mostly with a remedy, without the password.
#[derive(Debug, thiserror::Error)]
#[error("cannot open the store {config}: {reason}")]
pub struct OpenError {
    pub(crate) config: EtcdConfig,
    pub(crate) reason: Reason,
}

impl OpenError {
    /// Returns whether the reason is that there is no store.
    #[must_use]
    pub fn is_missing(&self) -> bool {
        matches!(self.reason, Reason::Missing)
    }
}

/// Converts to [`StoreError::Unavailable`] if opening may succeed later without a change by the operator, for example
/// after too few nodes have answered.
impl From<OpenError> for StoreError {
    fn from(error: OpenError) -> Self {
        let may_pass = matches!(
            &error.reason,
            Reason::Store(StoreError::Unavailable(cause)) if !cause.is::<Cause>()
        );
        opening_error(error, may_pass)
    }
}

/// The reason why a store could not be opened.
#[derive(Debug, thiserror::Error)]
pub(crate) enum Reason {
    #[error("{}", words(.0))]
    Store(#[from] StoreError),
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

/// Returns the text of an error without the words that [`StoreError`] puts in front of the cause.
fn words(error: &StoreError) -> String {
    match error {
        StoreError::Unavailable(cause) => cause.to_string(),
        StoreError::Refused(reason) => reason.clone(),
        StoreError::Sealed(_) | StoreError::Corrupt(_) => error.to_string(),
    }
}
