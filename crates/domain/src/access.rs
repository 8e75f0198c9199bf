//! Access by API key: the keys and their rules, the driving port [`Authenticator`], the driven port [`KeyStore`], and the
//! use cases [`KeyRing`] and changes of keys, such as [`add_key`].

pub(crate) mod authenticator;
pub(crate) mod key;
pub(crate) mod key_admin;
pub(crate) mod key_ring;
pub(crate) mod key_rules;
pub(crate) mod key_store;
pub(crate) mod name;
pub(crate) mod secret;
pub(crate) mod service_key;

pub use self::{
    authenticator::{AuthenticationError, Authenticator, Caller, KeyLabel, NamedKey},
    key::{ApiKey, CorruptKey, KeyId, KeyState, NewApiKey, StoredApiKey},
    key_admin::{add_first_key, add_key, revoke_keys, roll_key},
    key_ring::{KeyCheck, KeyRing, RevokedUse},
    key_rules::{KeyChangeError, KeySelector},
    key_store::{
        KeyChanges, KeyMark, KeyRevision, KeyRow, KeyStore, MAX_KEYS_PER_SAVE, SaveOutcome,
        StoredKeys, load_keys,
    },
    name::{InvalidKeyName, KeyName},
    secret::{ApiKeySecret, KeyDigest, KeyRights},
    service_key::{InvalidServiceKey, ServiceKey},
};

#[cfg(any(test, feature = "mocks"))]
pub use self::{authenticator::MockAuthenticator, key_store::MockKeyStore};
