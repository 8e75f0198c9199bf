//! How the rights of a key are called.

use petstore_domain::{ApiKey, KeyRights};

/// The word for what the key may do.
pub(super) fn word(key: &ApiKey) -> &'static str {
    match key.rights() {
        KeyRights::Full => "full",
        KeyRights::ReadOnly => "read-only",
    }
}
