//! The state of a key in a word.

use petstore_domain::{ApiKey, KeyState, Timestamp};

pub(super) fn word(key: &ApiKey, now: Timestamp) -> &'static str {
    match key.state(now) {
        KeyState::Live => "live",
        KeyState::Expired => "expired",
        KeyState::Revoked => "revoked",
    }
}
