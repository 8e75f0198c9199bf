//! Access by API key: the keys and their rules, the ports [`Authenticator`] (driving) and
//! [`ApiKeyRepository`] (driven), and the use cases [`KeyRing`] and [`KeyAdmin`].

pub(crate) mod admission;
pub(crate) mod authenticator;
pub(crate) mod expiry;
pub(crate) mod key;
pub(crate) mod key_admin;
pub(crate) mod key_ring;
pub(crate) mod name;
pub(crate) mod repository;
pub(crate) mod rights;
pub(crate) mod secret;
pub(crate) mod service_key;
pub(crate) mod stored_keys;

pub use self::{
    admission::LiveKeys,
    authenticator::{AuthenticationError, Authenticator, Caller, KeyLabel},
    expiry::expiring_soon,
    key::{ApiKey, KeyId, KeyState, NewApiKey},
    key_admin::KeyAdmin,
    key_ring::{KeyRing, RevokedUse},
    name::{InvalidKeyName, KeyName},
    repository::{AddKeyError, ApiKeyRepository, KeySelector, RollKeyError},
    rights::KeyRights,
    secret::{ApiKeySecret, KeyDigest},
    service_key::{InvalidServiceKey, ServiceKey},
    stored_keys::StoredKeys,
};

#[cfg(any(test, feature = "mocks"))]
pub use self::{authenticator::MockAuthenticator, repository::MockApiKeyRepository};
