//! API keys.

use std::collections::{BTreeMap, HashMap};

use petstore_domain::{ApiKey, KeyDigest, KeyId, Resolution, RestoreError};

use crate::{
    api_keys::rows::{self, times},
    connection::Connection,
    error::StoreFailure,
    values::Values,
};

const WRITE: &str = "INSERT INTO api_key (id, name, digest, prefix, created_at, expires_at, \
       revoked_at, last_used_at, rights) \
     SELECT * FROM unnest($1::bigint[], $2::text[], $3::bytea[], $4::text[], $5::bigint[], \
       $6::bigint[], $7::bigint[], $8::bigint[], $9::text[]) \
     ON CONFLICT (id) DO UPDATE SET expires_at = excluded.expires_at, \
       revoked_at = excluded.revoked_at, last_used_at = excluded.last_used_at";

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
    Ok(write(transaction, &resolved).await?)
}

async fn write(transaction: &Connection, keys: &[ApiKey]) -> Result<(), StoreFailure> {
    let ids: Vec<i64> = keys.iter().map(|key| key.id.0).collect();
    let names: Vec<&str> = keys.iter().map(|key| key.name.as_str()).collect();
    let digests: Vec<&[u8]> = keys.iter().map(|key| &key.digest.0[..]).collect();
    let prefixes: Vec<&str> = keys.iter().map(|key| key.prefix.as_str()).collect();
    let created: Vec<i64> = keys.iter().map(|key| key.created_at.0).collect();
    let expires = times(keys, |key| key.expires_at);
    let revoked = times(keys, |key| key.revoked_at);
    let used = times(keys, |key| key.last_used_at);
    let rights: Vec<&str> = keys.iter().map(|key| key.rights.as_str()).collect();
    let values: Values<'_> =
        &[&ids, &names, &digests, &prefixes, &created, &expires, &revoked, &used, &rights];
    transaction.query(WRITE, values).await?;
    Ok(())
}
