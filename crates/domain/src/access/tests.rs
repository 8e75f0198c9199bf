//! Samples of API keys for the tests of this folder.

use crate::{ApiKey, ApiKeySecret, CorruptKey, Corruption, KeyId, KeyName, NewApiKey, Timestamp};

pub(crate) fn name(text: &str) -> KeyName {
    KeyName::parse(text).unwrap()
}

pub(crate) fn secret(seed: u8) -> ApiKeySecret {
    ApiKeySecret::from_entropy(&[seed; 32])
}

/// Returns the key `id`, which was created at the time 0 from `secret(id)`.
pub(crate) fn key(id: u8, called: &str, expires_at: Option<i64>) -> ApiKey {
    NewApiKey::new(name(called), &secret(id), Timestamp(0), expires_at.map(Timestamp))
        .with_id(KeyId(id.into()))
}

/// Returns a row without a valid digest.
pub(crate) fn corrupt(id: i64, called: &str) -> CorruptKey {
    let corruption = Corruption::new(format_args!("API key {id}"), "a digest has 32 bytes");
    CorruptKey { id: Some(KeyId(id)), name: Some(called.to_owned()), corruption }
}
