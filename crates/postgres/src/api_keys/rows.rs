//! Rows of the table `api_key`.

use std::fmt;

use petstore_domain::{
    ApiKey, Corruption, KeyDigest, KeyId, KeyName, KeyRights, LiveKeys, NewApiKey, StoreError,
    StoredKeys, Timestamp,
};
use tokio_postgres::{Row, types::FromSql};

use crate::{connection::Connection, error::StoreFailure, values::Values};

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
/// The identifier is above every other also where the sequence is behind: nobody else adds one meanwhile.
const INSERT: &str = "INSERT INTO api_key (id, name, digest, prefix, created_at, expires_at, rights) \
     SELECT greatest(nextval('api_key_id'), (SELECT max(id) FROM api_key) + 1), $1, $2, $3, $4, $5, \
       $6 RETURNING id";
/// A use may be noted at the same time, so the later one is kept.
const UPDATE: &str = "UPDATE api_key AS k SET expires_at = u.expires_at, revoked_at = u.revoked_at, \
       last_used_at = greatest(k.last_used_at, u.last_used_at) \
     FROM unnest($1::bigint[], $2::bigint[], $3::bigint[], $4::bigint[]) \
       AS u (id, expires_at, revoked_at, last_used_at) \
     WHERE k.id = u.id";
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
    let id = row.try_get(0).map(KeyId).map_err(|error| Corruption::new("an API key", error))?;
    let name: &str = column(row, id, 1)?;
    let digest: &[u8] = column(row, id, 2)?;
    let prefix: String = column(row, id, 3)?;
    // A release that does not know the column leaves it empty.
    let rights = match column::<Option<&str>>(row, id, 8)? {
        Some(word) => KeyRights::parse(word).ok_or_else(|| corrupt(id, "its rights are known"))?,
        None => KeyRights::of_prefix(&prefix),
    };
    Ok(ApiKey {
        id,
        name: KeyName::parse(name).map_err(|rule| corrupt(id, rule))?,
        digest: KeyDigest(digest.try_into().map_err(|_| corrupt(id, "a digest has 32 bytes"))?),
        prefix,
        rights,
        created_at: Timestamp(column(row, id, 4)?),
        expires_at: column::<Option<i64>>(row, id, 5)?.map(Timestamp),
        revoked_at: column::<Option<i64>>(row, id, 6)?.map(Timestamp),
        last_used_at: column::<Option<i64>>(row, id, 7)?.map(Timestamp),
    })
}

fn column<'a, T: FromSql<'a>>(row: &'a Row, id: KeyId, index: usize) -> Result<T, Corruption> {
    row.try_get(index).map_err(|error| corrupt(id, error))
}

fn corrupt(id: KeyId, rule: impl fmt::Display) -> Corruption {
    Corruption::new(format_args!("API key {}", id.0), rule)
}

/// What the domain must know before `new` is stored.
pub(super) async fn live_keys(
    transaction: &Connection,
    new: &NewApiKey,
) -> Result<LiveKeys, StoreFailure> {
    let (name, digest) = (new.name.as_str(), new.digest.0.as_slice());
    let rows = transaction.query(LIVE_KEYS, &[&new.created_at.0, &name, &digest]).await?;
    let row = only(&rows)?;
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
    let expires_at = key.expires_at.map(|at| at.0);
    let (name, digest) = (key.name.as_str(), key.digest.0.as_slice());
    let rights = key.rights.as_str();
    let values: Values<'_> =
        &[&name, &digest, &key.prefix, &key.created_at.0, &expires_at, &rights];
    let rows = transaction.query(INSERT, values).await?;
    let id = only(&rows)?.try_get(0)?;
    Ok(key.with_id(KeyId(id)))
}

/// Writes what may change in a key.
pub(super) async fn update(transaction: &Connection, keys: &[ApiKey]) -> Result<(), StoreFailure> {
    let ids: Vec<i64> = keys.iter().map(|key| key.id.0).collect();
    let expires = times(keys, |key| key.expires_at);
    let revoked = times(keys, |key| key.revoked_at);
    let used = times(keys, |key| key.last_used_at);
    transaction.query(UPDATE, &[&ids, &expires, &revoked, &used]).await?;
    Ok(())
}

/// One time of each key, as an array.
pub(crate) fn times(
    keys: &[ApiKey],
    time: impl Fn(&ApiKey) -> Option<Timestamp>,
) -> Vec<Option<i64>> {
    keys.iter().map(|key| time(key).map(|at| at.0)).collect()
}

/// The row of a statement that always has one.
fn only(rows: &[Row]) -> Result<&Row, StoreFailure> {
    rows.first().ok_or(StoreFailure::Contention)
}
