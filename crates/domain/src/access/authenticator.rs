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

/// Finds the caller by the API key that a client presents. Over a [`KeyRing`](crate::KeyRing).
///
/// # Contract
/// - A key that was added, revoked or rolled on the same store is honoured within one second.
/// - Unknown, malformed, revoked and expired keys are one answer.
/// - A key whose check sum is wrong never reaches the store.
#[cfg_attr(any(test, feature = "mocks"), mockall::automock)]
#[async_trait]
pub trait Authenticator: Send + Sync {
    /// Returns the caller whose key this is, by what is known of the keys.
    ///
    /// # Errors
    /// [`AuthenticationError`].
    async fn authenticate(&self, secret: &ApiKeySecret) -> Result<Caller, AuthenticationError>;

    /// Checks again a key that [`authenticate`](Self::authenticate) has refused, by keys that were read after
    /// this call. A key that was just made is granted.
    ///
    /// # Errors
    /// [`AuthenticationError`].
    async fn authenticate_again(
        &self,
        secret: &ApiKeySecret,
    ) -> Result<Caller, AuthenticationError>;

    /// Returns what the caller's key is called; `None` if it is live no more.
    fn key_label(&self, caller: &Caller) -> Option<KeyLabel>;

    /// Returns how many stored keys are live.
    ///
    /// # Errors
    /// The keys could not be read.
    async fn live_keys(&self) -> Result<usize, StoreError>;

    /// Returns the live keys, the newest last, and that of the configuration, by what is known of them now: it does not
    /// wait. Metrics name them. By default, none is named.
    fn named_keys(&self) -> Vec<NamedKey> {
        Vec::new()
    }
}

/// A live API key, for people.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct NamedKey {
    /// The label of the key. The two keys of a roll share one label.
    pub label: KeyLabel,
    /// From this moment on it is refused; never when `None`.
    pub expires_at: Option<Timestamp>,
}

/// A client with a live API key.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Caller {
    /// Identifies this caller, on every instance of the service.
    pub digest: KeyDigest,
    /// The rights of the key.
    pub rights: KeyRights,
}

/// The label by which people know a live API key.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum KeyLabel {
    /// A key of the store, by its name.
    Stored(KeyName),
    /// The key of the configuration, which has no name.
    Service,
}

impl KeyLabel {
    /// Returns the label of a caller in metrics and in the log. No stored key is called `service key`, as a name has no
    /// space.
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
    /// No live key equals the one that was presented. If it was live once, it has this label, which is for
    /// only the log.
    #[error("the API key is unknown, malformed, revoked or expired")]
    Refused(Option<KeyLabel>),
    /// The keys could not be read.
    #[error(transparent)]
    Store(#[from] StoreError),
}
