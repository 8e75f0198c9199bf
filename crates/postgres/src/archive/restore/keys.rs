//! API keys.

use std::collections::HashMap;

use petstore_domain::{ApiKey, KeyId, RestoreError, Timestamp};

use super::{Restoring, conflict};
use crate::{api_keys::rows, connection::Values, error::Failure};

/// What stands in the way is judged afterwards: the same key, or another one with its identifier
/// or its digest.
const INSERT: &str = "INSERT INTO api_key (id, name, digest, prefix, created_at, expires_at, \
       revoked_at, last_used_at) \
     SELECT * FROM unnest($1::bigint[], $2::text[], $3::bytea[], $4::text[], $5::bigint[], \
       $6::bigint[], $7::bigint[], $8::bigint[]) \
     ON CONFLICT DO NOTHING";
const JOIN: &str = "UPDATE api_key AS k \
     SET expires_at = u.expires_at, revoked_at = u.revoked_at, last_used_at = u.last_used_at \
     FROM unnest($1::bigint[], $2::bigint[], $3::bigint[], $4::bigint[]) \
       AS u (id, expires_at, revoked_at, last_used_at) \
     WHERE k.id = u.id";

impl Restoring {
    pub(super) async fn restore_keys(
        &mut self,
        keys: &[ApiKey],
    ) -> Result<(), Failure<RestoreError>> {
        self.lock().await?;
        self.insert(keys).await?;
        let ids: Vec<i64> = keys.iter().map(|key| key.id.0).collect();
        let rows = rows::keys(&self.rows(rows::BY_ID, &[&ids]).await?)?;
        let mut there: HashMap<KeyId, ApiKey> = rows.into_iter().map(|key| (key.id, key)).collect();
        for key in keys {
            let joined = there.get(&key.id).and_then(|known| known.merged_with(key));
            let joined = joined.ok_or_else(|| conflict(format!("API key {}", key.id.0)))?;
            there.insert(key.id, joined);
        }
        self.join(there.values()).await
    }

    async fn insert(&self, keys: &[ApiKey]) -> Result<(), Failure<RestoreError>> {
        let ids: Vec<i64> = keys.iter().map(|key| key.id.0).collect();
        let names: Vec<&str> = keys.iter().map(|key| key.name.as_str()).collect();
        let digests: Vec<&[u8]> = keys.iter().map(|key| &key.digest.0[..]).collect();
        let prefixes: Vec<&str> = keys.iter().map(|key| key.prefix.as_str()).collect();
        let created: Vec<i64> = keys.iter().map(|key| key.created_at.0).collect();
        let expires = times(keys.iter().map(|key| key.expires_at));
        let revoked = times(keys.iter().map(|key| key.revoked_at));
        let used = times(keys.iter().map(|key| key.last_used_at));
        let values: Values<'_> =
            &[&ids, &names, &digests, &prefixes, &created, &expires, &revoked, &used];
        self.execute(INSERT, values).await?;
        Ok(())
    }

    async fn join<'a>(
        &self,
        keys: impl Iterator<Item = &'a ApiKey> + Clone,
    ) -> Result<(), Failure<RestoreError>> {
        let ids: Vec<i64> = keys.clone().map(|key| key.id.0).collect();
        let expires = times(keys.clone().map(|key| key.expires_at));
        let revoked = times(keys.clone().map(|key| key.revoked_at));
        let used = times(keys.map(|key| key.last_used_at));
        self.execute(JOIN, &[&ids, &expires, &revoked, &used]).await?;
        Ok(())
    }
}

fn times(times: impl Iterator<Item = Option<Timestamp>>) -> Vec<Option<i64>> {
    times.map(|time| time.map(|at| at.0)).collect()
}
