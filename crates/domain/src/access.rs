//! Access by API key: the keys and their rules, the driving port [`Authenticator`], the driven port [`KeyStore`], and
//! the use cases. [`KeyRing`] checks keys. Functions such as [`add_key`] change keys.

pub(crate) mod authenticator;
pub(crate) mod key;
pub(crate) mod key_admin;
pub(crate) mod key_ring;
pub(crate) mod key_rules;
pub(crate) mod key_store;
pub(crate) mod name;
pub(crate) mod secret;
pub(crate) mod service_key;
#[cfg(test)]
pub(crate) mod tests;

pub use self::{
    authenticator::*, key::*, key_admin::*, key_ring::*, key_rules::*, key_store::*, name::*,
    secret::*, service_key::*,
};
