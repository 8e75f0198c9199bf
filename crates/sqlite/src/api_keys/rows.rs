//! Rows of the table `api_key`.

use std::fmt::Display;

use petstore_domain::{
    ApiKey, Corruption, KeyDigest, KeyId, KeyName, KeyRights, KeySelector, LiveKeys, NewApiKey,
    StoreError, StoredKeys, Timestamp,
};
use rusqlite::{Connection, OptionalExtension, Params, Row, params, types::FromSql};

use crate::error::Failure;

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
pub(crate) const BY_ID: &str = select!("WHERE id = ?1");
pub(crate) const LIVE: &str =
    select!("WHERE revoked_at IS NULL AND (expires_at IS NULL OR expires_at > ?1) ORDER BY id");
pub(crate) const NOT_REVOKED_BY_ID: &str = select!("WHERE id = ?1 AND revoked_at IS NULL");
pub(crate) const NOT_REVOKED_BY_NAME: &str =
    select!("WHERE name = ?1 AND revoked_at IS NULL ORDER BY id");
pub(crate) const COUNT_LIVE: &str = "SELECT count(*) FROM api_key \
     WHERE revoked_at IS NULL AND (expires_at IS NULL OR expires_at > ?1)";
pub(crate) const NAME_IS_LIVE: &str = "SELECT EXISTS (SELECT 1 FROM api_key WHERE name = ?1 \
     AND revoked_at IS NULL AND (expires_at IS NULL OR expires_at > ?2))";
pub(crate) const DIGEST_OWNER: &str = "SELECT id FROM api_key WHERE digest = ?1";
pub(crate) const INSERT: &str = "INSERT INTO api_key \
     (name, digest, prefix, created_at, expires_at, rights) VALUES (?1, ?2, ?3, ?4, ?5, ?6)";
/// Of a key that is stored already, only its ends and its last use change.
pub(crate) const WRITE: &str = "INSERT INTO api_key \
     (id, name, digest, prefix, created_at, expires_at, revoked_at, last_used_at, rights) \
     VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9) ON CONFLICT (id) DO UPDATE SET \
     expires_at = excluded.expires_at, revoked_at = excluded.revoked_at, \
     last_used_at = excluded.last_used_at";
pub(crate) const NOTE_USE: &str = "UPDATE api_key SET last_used_at = ?2 \
     WHERE id = ?1 AND (last_used_at IS NULL OR last_used_at < ?2)";

pub(crate) fn all(connection: &Connection) -> Result<StoredKeys, Failure<StoreError>> {
    select(connection, ALL, [])
}

pub(crate) fn live(
    connection: &Connection,
    now: Timestamp,
) -> Result<StoredKeys, Failure<StoreError>> {
    select(connection, LIVE, [now.0])
}

pub(crate) fn not_revoked<E: From<StoreError>>(
    connection: &Connection,
    selector: &KeySelector,
) -> Result<Vec<ApiKey>, Failure<E>> {
    match selector {
        KeySelector::Id(id) => keys(connection, NOT_REVOKED_BY_ID, [id.0]),
        KeySelector::Name(name) => keys(connection, NOT_REVOKED_BY_NAME, [name.as_str()]),
    }
}

pub(crate) fn find<E: From<StoreError>>(
    connection: &Connection,
    id: KeyId,
) -> Result<Option<ApiKey>, Failure<E>> {
    Ok(keys(connection, BY_ID, [id.0])?.pop())
}

fn keys<E: From<StoreError>>(
    connection: &Connection,
    sql: &str,
    params: impl Params,
) -> Result<Vec<ApiKey>, Failure<E>> {
    Ok(select(connection, sql, params)?.into_all()?)
}

/// The keys that `sql` selects, each of them read or corrupt.
fn select<E>(
    connection: &Connection,
    sql: &str,
    params: impl Params,
) -> Result<StoredKeys, Failure<E>> {
    let mut statement = connection.prepare_cached(sql)?;
    let keys = statement.query_map(params, |row| Ok(api_key(row)))?;
    Ok(keys.collect::<Result<_, _>>()?)
}

/// What the domain must know before `new` is stored.
pub(crate) fn live_keys(connection: &Connection, new: &NewApiKey) -> rusqlite::Result<LiveKeys> {
    let NewApiKey { name, digest, created_at: Timestamp(now), .. } = new;
    let mut count = connection.prepare_cached(COUNT_LIVE)?;
    let mut name_is_live = connection.prepare_cached(NAME_IS_LIVE)?;
    Ok(LiveKeys {
        count: count.query_row([now], |row| row.get(0))?,
        has_name: name_is_live.query_row(params![name.as_str(), now], |row| row.get(0))?,
        has_digest: digest_owner(connection, digest)?.is_some(),
    })
}

/// The key that has this digest.
pub(crate) fn digest_owner(
    connection: &Connection,
    digest: &KeyDigest,
) -> rusqlite::Result<Option<KeyId>> {
    let mut statement = connection.prepare_cached(DIGEST_OWNER)?;
    statement.query_row([digest.0], |row| row.get(0).map(KeyId)).optional()
}

/// Stores a key under the next identifier.
pub(crate) fn insert(connection: &Connection, key: NewApiKey) -> rusqlite::Result<ApiKey> {
    let NewApiKey { name, digest, prefix, rights, created_at, expires_at } = &key;
    let expires_at = expires_at.map(|at| at.0);
    let values =
        params![name.as_str(), digest.0, prefix, created_at.0, expires_at, rights.as_str()];
    let id = connection.prepare_cached(INSERT)?.insert(values)?;
    Ok(key.with_id(KeyId(id)))
}

/// Stores a key under its own identifier, or what has become of it.
pub(crate) fn write(connection: &Connection, key: &ApiKey) -> rusqlite::Result<()> {
    let ApiKey {
        id,
        name,
        digest,
        prefix,
        rights,
        created_at,
        expires_at,
        revoked_at,
        last_used_at,
    } = key;
    let [expires_at, revoked_at, last_used_at] =
        [expires_at, revoked_at, last_used_at].map(|at| at.map(|at| at.0));
    let (name, created_at) = (name.as_str(), created_at.0);
    connection
        .prepare_cached(WRITE)?
        .execute(params![
            id.0,
            name,
            digest.0,
            prefix,
            created_at,
            expires_at,
            revoked_at,
            last_used_at,
            rights.as_str()
        ])
        .map(drop)
}

pub(crate) fn note_use(
    connection: &Connection,
    uses: &[(KeyId, Timestamp)],
) -> rusqlite::Result<()> {
    let mut statement = connection.prepare_cached(NOTE_USE)?;
    for (id, at) in uses {
        statement.execute([id.0, at.0])?;
    }
    Ok(())
}

/// The key of a row, through the domain's constructors.
fn api_key(row: &Row<'_>) -> Result<ApiKey, Corruption> {
    let id = row.get(0).map(KeyId).map_err(|error| Corruption::new("an API key", error))?;
    let name: String = column(row, id, 1)?;
    let digest: Vec<u8> = column(row, id, 2)?;
    let prefix: String = column(row, id, 3)?;
    // A release that does not know the column leaves it empty.
    let rights = match column::<Option<String>>(row, id, 8)? {
        Some(word) => KeyRights::parse(&word).ok_or_else(|| broken(id, "its rights are known"))?,
        None => KeyRights::of_prefix(&prefix),
    };
    let moment = |index| Ok(column::<Option<i64>>(row, id, index)?.map(Timestamp));
    Ok(ApiKey {
        id,
        name: KeyName::parse(&name).map_err(|rule| broken(id, rule))?,
        digest: KeyDigest(digest.try_into().map_err(|_| broken(id, "a digest has 32 bytes"))?),
        prefix,
        rights,
        created_at: Timestamp(column(row, id, 4)?),
        expires_at: moment(5)?,
        revoked_at: moment(6)?,
        last_used_at: moment(7)?,
    })
}

fn column<T: FromSql>(row: &Row<'_>, id: KeyId, index: usize) -> Result<T, Corruption> {
    row.get(index).map_err(|error| broken(id, error))
}

fn broken(id: KeyId, rule: impl Display) -> Corruption {
    Corruption::new(format_args!("API key {}", id.0), rule)
}
