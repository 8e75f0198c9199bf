//! Driving port: authentication by API key.

use async_trait::async_trait;

use crate::{
    access::{
        name::KeyName,
        secret::{ApiKeySecret, KeyDigest, KeyRights},
    },
    error::StoreError,
    timestamp::Timestamp,
};

/// Finds the caller by the API key that a client presents. [`KeyRing`](crate::KeyRing) has the rules.
///
/// # Contract
/// - A change of a key by another process takes effect within one second.
/// - Unknown, malformed, revoked and expired keys get the same answer.
/// - A key with a wrong checksum causes no read of the store.
#[cfg_attr(any(test, feature = "mocks"), mockall::automock)]
#[async_trait]
pub trait Authenticator: Send + Sync {
    /// Returns the caller with this key, as of the last refresh of the keys.
    ///
    /// # Errors
    /// [`AuthenticationError`].
    async fn authenticate(&self, secret: &ApiKeySecret) -> Result<Caller, AuthenticationError>;

    /// Refreshes the keys, and then checks a key again that [`authenticate`](Self::authenticate) has refused. So a new
    /// key is accepted at once.
    ///
    /// # Errors
    /// [`AuthenticationError`].
    async fn authenticate_again(
        &self,
        secret: &ApiKeySecret,
    ) -> Result<Caller, AuthenticationError>;

    /// Returns the label of the caller's key; `None` if the key has been removed or replaced meanwhile.
    fn key_label(&self, caller: &Caller) -> Option<KeyLabel>;

    /// Returns the number of live stored keys.
    ///
    /// # Errors
    /// The keys could not be read.
    async fn live_keys(&self) -> Result<usize, StoreError>;

    /// Returns the live keys as of the last refresh, the newest last, then the service key. The metrics show them.
    /// Returns no keys by default.
    fn named_keys(&self) -> Vec<NamedKey> {
        Vec::new()
    }
}

/// A live API key, for people.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct NamedKey {
    /// The label of the key. The two keys of a roll share one label.
    pub label: KeyLabel,
    /// The time from which the key is refused; `None` if it never expires.
    pub expires_at: Option<Timestamp>,
}

/// A client with a live API key.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Caller {
    /// Identifies the caller on every instance of the service.
    pub digest: KeyDigest,
    /// The rights of the key.
    pub rights: KeyRights,
}

/// The label of an API key in metrics and in the log.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum KeyLabel {
    /// The name of a stored key.
    Stored(KeyName),
    /// The service key, which has no name.
    Service,
}

impl KeyLabel {
    /// Returns the text of the label. No stored key is named `service key`, because a name has no space.
    #[must_use]
    pub fn as_str(&self) -> &str {
        match self {
            Self::Stored(name) => name.as_str(),
            Self::Service => "service key",
        }
    }
}

/// A caller could not be authenticated.
#[derive(Debug, thiserror::Error)]
pub enum AuthenticationError {
    /// The presented key is not live. A formerly live key has a label, which is only for the log.
    #[error("the API key is unknown, malformed, revoked or expired")]
    Refused(Option<KeyLabel>),
    /// The keys could not be read.
    #[error(transparent)]
    Store(#[from] StoreError),
}
