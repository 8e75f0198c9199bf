//! Rows of the table `api_key`.

use std::slice;

use petstore_domain::{
    ApiKey, Corruption, KeyDigest, KeyId, KeyName, KeyRights, LiveKeys, NewApiKey, StoreError,
    StoredKeys, Timestamp,
};
use tokio_postgres::Row;

use crate::{
    connection::Connection,
    error::StoreFailure,
    values::{Fields, Values, scalar},
};

/// Selects whole rows; what follows chooses among them.
macro_rules! select {
    ($tail:literal) => {
        concat!(
            "SELECT id, name, digest, prefix, created_at, expires_at, revoked_at, last_used_at, \
             rights FROM api_key ",
            $tail
        )
    };
}

pub(crate) const ALL: &str = select!("ORDER BY id");
pub(crate) const BY_ID_OR_DIGEST: &str = select!("WHERE id = ANY($1) OR digest = ANY($2)");
pub(crate) const LIVE: &str =
    select!("WHERE revoked_at IS NULL AND (expires_at IS NULL OR expires_at > $1) ORDER BY id");
pub(crate) const LIVE_BY_NAME: &str = select!(
    "WHERE name = $1 AND revoked_at IS NULL AND (expires_at IS NULL OR expires_at > $2) ORDER BY id"
);
pub(crate) const NOT_REVOKED_BY_ID: &str = select!("WHERE id = $1 AND revoked_at IS NULL");
pub(crate) const NOT_REVOKED_BY_NAME: &str =
    select!("WHERE name = $1 AND revoked_at IS NULL ORDER BY id");
/// Locked by whoever changes keys, until the transaction ends.
pub(crate) const GUARD: &str = "SELECT only_row FROM api_key_guard WHERE only_row = 1 FOR UPDATE";
const LIVE_KEYS: &str = "SELECT \
     (SELECT count(*) FROM api_key \
       WHERE revoked_at IS NULL AND (expires_at IS NULL OR expires_at > $1)), \
     EXISTS (SELECT 1 FROM api_key WHERE name = $2 \
       AND revoked_at IS NULL AND (expires_at IS NULL OR expires_at > $1)), \
     EXISTS (SELECT 1 FROM api_key WHERE digest = $3)";
/// Above every other also where the sequence is behind: nobody else adds one meanwhile.
const NEXT_ID: &str = "SELECT greatest(nextval('api_key_id'), (SELECT max(id) FROM api_key) + 1)";
/// A use may be noted at the same time, so the later one is kept.
const WRITE: &str = "INSERT INTO api_key AS k (id, name, digest, prefix, created_at, expires_at, \
       revoked_at, last_used_at, rights) \
     SELECT * FROM unnest($1::bigint[], $2::text[], $3::bytea[], $4::text[], $5::bigint[], \
       $6::bigint[], $7::bigint[], $8::bigint[], $9::text[]) \
     ON CONFLICT (id) DO UPDATE SET expires_at = excluded.expires_at, \
       revoked_at = excluded.revoked_at, \
       last_used_at = greatest(k.last_used_at, excluded.last_used_at)";
pub(crate) const NOTE_USE: &str = "UPDATE api_key AS k SET last_used_at = u.at \
     FROM unnest($1::bigint[], $2::bigint[]) AS u (id, at) \
     WHERE k.id = u.id AND (k.last_used_at IS NULL OR k.last_used_at < u.at)";

pub(crate) fn keys(rows: &[Row]) -> Result<Vec<ApiKey>, StoreError> {
    Ok(stored_keys(rows).into_all()?)
}

/// The keys that could be read, beside the rows that could not.
pub(crate) fn stored_keys(rows: &[Row]) -> StoredKeys {
    rows.iter().map(api_key).collect()
}

fn api_key(row: &Row) -> Result<ApiKey, Corruption> {
    let fields = Fields::new(row, 0, "API key", 0)?;
    let prefix: String = fields.get(3)?;
    // A release that does not know the column leaves it empty.
    let rights = match fields.get::<Option<&str>>(8)? {
        Some(word) => {
            KeyRights::parse(word).ok_or_else(|| fields.corrupt("its rights are known"))?
        }
        None => KeyRights::of_prefix(&prefix),
    };
    Ok(ApiKey {
        id: KeyId(fields.id()),
        name: KeyName::parse(fields.get::<&str>(1)?).map_err(|rule| fields.corrupt(rule))?,
        digest: KeyDigest(fields.bytes(2, "a digest has 32 bytes")?),
        prefix,
        rights,
        created_at: Timestamp(fields.get(4)?),
        expires_at: fields.get::<Option<i64>>(5)?.map(Timestamp),
        revoked_at: fields.get::<Option<i64>>(6)?.map(Timestamp),
        last_used_at: fields.get::<Option<i64>>(7)?.map(Timestamp),
    })
}

/// What the domain must know before `new` is stored.
pub(super) async fn live_keys(
    transaction: &Connection,
    new: &NewApiKey,
) -> Result<LiveKeys, StoreFailure> {
    let (name, digest) = (new.name.as_str(), new.digest.0.as_slice());
    let rows = transaction.query(LIVE_KEYS, &[&new.created_at.0, &name, &digest]).await?;
    let row = rows.first().ok_or(StoreFailure::Contention)?;
    let count: i64 = row.try_get(0)?;
    Ok(LiveKeys {
        count: u32::try_from(count).unwrap_or(u32::MAX),
        has_name: row.try_get(1)?,
        has_digest: row.try_get(2)?,
    })
}

pub(super) async fn insert(
    transaction: &Connection,
    key: NewApiKey,
) -> Result<ApiKey, StoreFailure> {
    let id = scalar(&transaction.query(NEXT_ID, &[]).await?)?;
    let key = key.with_id(KeyId(id));
    write(transaction, slice::from_ref(&key)).await?;
    Ok(key)
}

/// Writes new keys, and what may change in those that are there.
pub(crate) async fn write(transaction: &Connection, keys: &[ApiKey]) -> Result<(), StoreFailure> {
    let time = |time: fn(&ApiKey) -> Option<Timestamp>| -> Vec<Option<i64>> {
        keys.iter().map(|key| time(key).map(|at| at.0)).collect()
    };
    let ids: Vec<i64> = keys.iter().map(|key| key.id.0).collect();
    let names: Vec<&str> = keys.iter().map(|key| key.name.as_str()).collect();
    let digests: Vec<&[u8]> = keys.iter().map(|key| &key.digest.0[..]).collect();
    let prefixes: Vec<&str> = keys.iter().map(|key| key.prefix.as_str()).collect();
    let created: Vec<i64> = keys.iter().map(|key| key.created_at.0).collect();
    let (expires, revoked) = (time(|key| key.expires_at), time(|key| key.revoked_at));
    let used = time(|key| key.last_used_at);
    let rights: Vec<&str> = keys.iter().map(|key| key.rights.as_str()).collect();
    let values: Values<'_> =
        &[&ids, &names, &digests, &prefixes, &created, &expires, &revoked, &used, &rights];
    transaction.query(WRITE, values).await.map(drop)
}
