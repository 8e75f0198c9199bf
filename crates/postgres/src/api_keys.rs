//! [`KeyStore`] on PostgreSQL: the keys in the table `api_key`, and their revision in `petstore_state`.

use async_trait::async_trait;
use petstore_domain::{
    ApiKey, CorruptKey, KeyChanges, KeyId, KeyMark, KeyRevision, KeyStore, SaveOutcome, StoreError,
    StoredApiKey, StoredKeys, Timestamp,
};
use tokio_postgres::Row;

use crate::{
    connection::{Connection, READ_COMMITTED},
    connector::Purpose,
    error::StoreFailure,
    store::PostgresStore,
    values::{Bytes, Values, named},
    version::state,
};

pub(crate) const ALL: &str = "SELECT * FROM api_key ORDER BY id";
pub(crate) const BY_ID_OR_DIGEST: &str =
    "SELECT * FROM api_key WHERE id = ANY($1) OR digest = ANY($2)";
/// Selects each key whose stamp is above `$2`, with its stamp. Each row also has the key revision, the highest key
/// identifier, and the sum of the lower 32 bits of all stamps. If there is no such key, or if the revision is `$1`, the
/// result is one row without a key. If the revision is `$1`, PostgreSQL does not read `api_key`: `OFFSET 0` keeps the
/// conditions inside the subqueries.
const LOAD: &str = concat!(
    "SELECT k.*, key_revision, highest_key_id, total FROM ",
    state!(),
    " c LEFT JOIN LATERAL \
     (SELECT sum(stamp & 4294967295)::bigint AS total FROM api_key \
      WHERE c.key_revision IS DISTINCT FROM $1::bytea OFFSET 0) s ON true LEFT JOIN LATERAL \
     (SELECT * FROM api_key WHERE c.key_revision IS DISTINCT FROM $1::bytea AND stamp > $2::bigint OFFSET 0) k \
     ON true ORDER BY id"
);
/// Selects the key revision and locks the state row. Every writer locks this row first.
const LOCK: &str =
    "SELECT key_revision FROM petstore_state ORDER BY changes DESC LIMIT 1 FOR UPDATE";
/// Writes keys. A stored key keeps the time of its last use.
const WRITE: &str = "INSERT INTO api_key \
     (id, name, digest, prefix, created_at, expires_at, revoked_at, last_used_at, rights) \
     SELECT * FROM unnest($1::bigint[], $2::text[], $3::bytea[], $4::text[], $5::bigint[], \
       $6::bigint[], $7::bigint[], $8::bigint[], $9::text[]) ON CONFLICT (id) DO UPDATE SET \
     name = excluded.name, digest = excluded.digest, prefix = excluded.prefix, rights = excluded.rights, \
     created_at = excluded.created_at, expires_at = excluded.expires_at, revoked_at = excluded.revoked_at";
const REMOVE: &str = "DELETE FROM api_key WHERE id = ANY($1)";
/// Stores the times of the last uses of keys, without a change of the key revision. A time in `$2` is null for a key
/// that was never used; the stored time then stays. Locks the state row first, as every writer does.
pub(crate) const NOTE_USES: &str = "UPDATE api_key AS k SET last_used_at = greatest(k.last_used_at, u.at) \
     FROM (SELECT FROM petstore_state ORDER BY changes DESC LIMIT 1 FOR SHARE) c, \
       unnest($1::bigint[], $2::bigint[]) AS u (id, at) WHERE k.id = u.id";

#[async_trait]
impl KeyStore for PostgresStore {
    async fn load(&self, unless: Option<KeyRevision>) -> Result<Option<StoredKeys>, StoreError> {
        let (revision, rows) = self.load_keys(unless, i64::MIN).await?;
        if unless == Some(revision) {
            return Ok(None);
        }
        let highest = rows.first().and_then(|row| row.try_get("highest_key_id").ok());
        let next_id = KeyId(highest.unwrap_or(0_i64).saturating_add(1));
        Ok(Some(StoredKeys::new(revision, next_id, with_key(&rows).map(api_key))))
    }

    async fn load_changes(&self, known: Option<KeyMark>) -> Result<KeyChanges, StoreError> {
        let position = known.map_or(i64::MIN, |known| known.position);
        let (revision, rows) = self.load_keys(known.map(|known| known.revision), position).await?;
        let mut changes = KeyChanges::none_since(KeyMark { revision, position });
        for row in with_key(&rows) {
            let stamp = row.try_get("stamp").unwrap_or(0_i64);
            changes.mark.position = changes.mark.position.max(stamp);
            changes.rows.push((api_key(row), stamp.cast_unsigned() & 0xffff_ffff));
        }
        let total = rows.first().and_then(|row| row.try_get("total").ok());
        changes.sum = total.unwrap_or(0_i64).cast_unsigned();
        Ok(changes)
    }

    async fn save(
        &self,
        expected: KeyRevision,
        changed: Vec<ApiKey>,
        removed: Vec<KeyId>,
    ) -> Result<SaveOutcome, StoreError> {
        let removed: Vec<i64> = removed.into_iter().map(|KeyId(id)| id).collect();
        let save = async {
            let transaction = self.pool.begin(Purpose::Calls, READ_COMMITTED).await?;
            let found = transaction.query(LOCK, &[]).await?;
            if revision(found.first())? != expected {
                return Ok(SaveOutcome::Conflict);
            }
            transaction.query(REMOVE, &[&removed]).await?;
            write(&transaction, &changed).await?;
            transaction.commit().await?;
            Ok(SaveOutcome::Saved)
        };
        self.pool.within_deadline(save).await
    }

    async fn note_uses(&self, uses: Vec<(KeyId, Timestamp)>) -> Result<(), StoreError> {
        let ids: Vec<i64> = uses.iter().map(|(id, _)| id.0).collect();
        let times: Vec<i64> = uses.iter().map(|(_, at)| at.0).collect();
        let note = async { Ok(self.pool.query(NOTE_USES, &[&ids, &times]).await.map(drop)?) };
        self.pool.within_deadline(note).await
    }
}

impl PostgresStore {
    /// Returns the key revision and the rows of [`LOAD`], for the revision `unless` and the stamp `after`.
    async fn load_keys(
        &self,
        unless: Option<KeyRevision>,
        after: i64,
    ) -> Result<(KeyRevision, Vec<Row>), StoreError> {
        let known = unless.map(|KeyRevision(revision)| revision.to_be_bytes().to_vec());
        let load = async { Ok(self.pool.query(LOAD, &[&known, &after]).await?) };
        let rows = self.pool.within_deadline(load).await?;
        Ok((revision(rows.first())?, rows))
    }
}

/// Returns the rows of [`LOAD`] with a key. A row without an identifier has no key.
fn with_key(rows: &[Row]) -> impl Iterator<Item = &Row> {
    rows.iter().filter(|row| !matches!(row.try_get("id"), Ok(None::<i64>)))
}

fn revision(row: Option<&Row>) -> Result<KeyRevision, StoreError> {
    match row.map(|row| row.try_get("key_revision")) {
        Some(Ok(Bytes(revision))) => Ok(KeyRevision(u128::from_be_bytes(revision))),
        _ => Err(StoreError::corrupt(
            "the revision of the API keys",
            "the revision is present and has 16 bytes",
        )),
    }
}

pub(crate) fn keys(rows: &[Row]) -> Result<Vec<ApiKey>, StoreError> {
    let keys = rows.iter().map(|row| api_key(row).map_err(|corrupt| corrupt.corruption));
    Ok(keys.collect::<Result<_, _>>()?)
}

fn api_key(row: &Row) -> Result<ApiKey, CorruptKey> {
    let read = || {
        Ok(StoredApiKey {
            id: row.try_get("id")?,
            name: row.try_get("name")?,
            digest: row.try_get("digest")?,
            prefix: row.try_get("prefix")?,
            created_at: row.try_get("created_at")?,
            expires_at: row.try_get("expires_at")?,
            revoked_at: row.try_get("revoked_at")?,
            last_used_at: row.try_get("last_used_at")?,
            rights: row.try_get("rights")?,
        })
    };
    let unreadable = |corruption| CorruptKey {
        id: row.try_get("id").ok().map(KeyId),
        name: row.try_get("name").ok(),
        corruption,
    };
    ApiKey::from_stored(named(row, "API key", 0, read).map_err(unreadable)?)
}

/// Writes `keys` under their own identifiers. A stored key keeps the time of its last use.
pub(crate) async fn write(transaction: &Connection, keys: &[ApiKey]) -> Result<(), StoreFailure> {
    let ids: Vec<i64> = keys.iter().map(|key| key.id.0).collect();
    let names: Vec<&str> = keys.iter().map(|key| key.name.as_str()).collect();
    let digests: Vec<&[u8]> = keys.iter().map(|key| &key.digest.0[..]).collect();
    let prefixes: Vec<&str> = keys.iter().map(|key| key.prefix.as_str()).collect();
    let created: Vec<i64> = keys.iter().map(|key| key.created_at.0).collect();
    let times = |time: fn(&ApiKey) -> Option<Timestamp>| -> Vec<Option<i64>> {
        keys.iter().map(|key| time(key).map(|at| at.0)).collect()
    };
    let expires = times(|key| key.expires_at);
    let revoked = times(|key| key.revoked_at);
    let used = times(|key| key.last_used_at);
    let rights: Vec<&str> = keys.iter().map(|key| key.rights.as_str()).collect();
    let values: Values<'_> =
        &[&ids, &names, &digests, &prefixes, &created, &expires, &revoked, &used, &rights];
    transaction.query(WRITE, values).await?;
    Ok(())
}
