//! API keys.

use std::collections::{BTreeMap, HashMap};

use petstore_domain::{ApiKey, KeyDigest, KeyId, Resolution, RestoreError};

use crate::{api_keys::rows, connection::Connection};

/// Writes keys under their own identifiers. The lock keeps others from changing one meanwhile.
pub(super) async fn restore(transaction: &Connection, keys: &[ApiKey]) -> Result<(), RestoreError> {
    let ids: Vec<i64> = keys.iter().map(|key| key.id.0).collect();
    let digests: Vec<&[u8]> = keys.iter().map(|key| &key.digest.0[..]).collect();
    let found = transaction.query(rows::BY_ID_OR_DIGEST, &[&ids, &digests]).await?;
    let mut stored: BTreeMap<KeyId, ApiKey> = BTreeMap::new();
    let mut owners: HashMap<KeyDigest, KeyId> = HashMap::new();
    for key in rows::keys(&found)? {
        owners.insert(key.digest, key.id);
        stored.insert(key.id, key);
    }
    for key in keys {
        let owner = owners.get(&key.digest).copied();
        let resolved = Resolution::of_key(stored.get(&key.id), owner, key)?;
        owners.insert(resolved.digest, resolved.id);
        stored.insert(resolved.id, resolved);
    }
    let resolved: Vec<ApiKey> = stored.into_values().collect();
    Ok(rows::write(transaction, &resolved).await?)
}
