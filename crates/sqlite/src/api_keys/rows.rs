//! Rows of the table `api_key`.

use petstore_domain::{
    ApiKey, Corruption, KeyDigest, KeyId, KeyName, KeySelector, NewApiKey, StoreError, Timestamp,
};
use rusqlite::{Connection, Params, Row, params, types::FromSql};

use crate::error::{Failure, corruption};

/// Selects whole rows; what follows chooses among them.
macro_rules! select {
    ($tail:literal) => {
        concat!(
            "SELECT id, name, digest, prefix, created_at, expires_at, revoked_at, last_used_at \
             FROM api_key ",
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
pub(crate) const NAME_IS_LIVE: &str = "SELECT EXISTS (SELECT 1 FROM api_key WHERE name = ?1 \
     AND revoked_at IS NULL AND (expires_at IS NULL OR expires_at > ?2))";
pub(crate) const DIGEST_EXISTS: &str = "SELECT EXISTS (SELECT 1 FROM api_key WHERE digest = ?1)";
pub(crate) const COUNT_LIVE: &str = "SELECT count(*) FROM api_key \
     WHERE revoked_at IS NULL AND (expires_at IS NULL OR expires_at > ?1)";
pub(crate) const INSERT: &str = "INSERT INTO api_key \
     (name, digest, prefix, created_at, expires_at) VALUES (?1, ?2, ?3, ?4, ?5)";
/// Live now (`?2`), and not expiring by `?3` anyway.
pub(crate) const RETIRE: &str = "UPDATE api_key SET expires_at = ?3 WHERE name = ?1 \
     AND revoked_at IS NULL AND (expires_at IS NULL OR (expires_at > ?2 AND expires_at > ?3))";
pub(crate) const REVOKE: &str = "UPDATE api_key SET revoked_at = ?2 WHERE id = ?1";
pub(crate) const NOTE_USE: &str = "UPDATE api_key SET last_used_at = ?2 \
     WHERE id = ?1 AND (last_used_at IS NULL OR last_used_at < ?2)";

pub(crate) fn all(connection: &Connection) -> Result<Vec<ApiKey>, Failure<StoreError>> {
    keys(connection, ALL, [])
}

pub(super) fn live(
    connection: &Connection,
    now: Timestamp,
) -> Result<Vec<ApiKey>, Failure<StoreError>> {
    keys(connection, LIVE, [now.0])
}

pub(super) fn not_revoked(
    connection: &Connection,
    selector: &KeySelector,
) -> Result<Vec<ApiKey>, Failure<StoreError>> {
    match selector {
        KeySelector::Id(id) => keys(connection, NOT_REVOKED_BY_ID, [id.0]),
        KeySelector::Name(name) => keys(connection, NOT_REVOKED_BY_NAME, [name.as_str()]),
    }
}

fn keys(
    connection: &Connection,
    sql: &str,
    params: impl Params,
) -> Result<Vec<ApiKey>, Failure<StoreError>> {
    let mut statement = connection.prepare_cached(sql)?;
    let mut rows = statement.query(params)?;
    let mut keys = Vec::new();
    while let Some(row) = rows.next()? {
        keys.push(api_key(row)?);
    }
    Ok(keys)
}

/// The key of a row, through the doors of the domain.
pub(crate) fn api_key(row: &Row<'_>) -> Result<ApiKey, Corruption> {
    let id = row.get(0).map(KeyId).map_err(|error| corruption("an API key", error))?;
    let name: String = column(row, id, 1)?;
    let digest: Vec<u8> = column(row, id, 2)?;
    Ok(ApiKey {
        id,
        name: KeyName::parse(&name).map_err(|rule| broken(id, rule))?,
        digest: KeyDigest(digest.try_into().map_err(|_| broken(id, "a digest has 32 bytes"))?),
        prefix: column(row, id, 3)?,
        created_at: Timestamp(column(row, id, 4)?),
        expires_at: column::<Option<i64>>(row, id, 5)?.map(Timestamp),
        revoked_at: column::<Option<i64>>(row, id, 6)?.map(Timestamp),
        last_used_at: column::<Option<i64>>(row, id, 7)?.map(Timestamp),
    })
}

fn column<T: FromSql>(row: &Row<'_>, id: KeyId, index: usize) -> Result<T, Corruption> {
    row.get(index).map_err(|error| broken(id, error))
}

fn broken(id: KeyId, rule: impl std::fmt::Display) -> Corruption {
    corruption(format!("API key {}", id.0), rule)
}

pub(super) fn name_is_live(
    connection: &Connection,
    name: &KeyName,
    now: Timestamp,
) -> rusqlite::Result<bool> {
    let params = params![name.as_str(), now.0];
    connection.prepare_cached(NAME_IS_LIVE)?.query_row(params, |row| row.get(0))
}

pub(super) fn digest_exists(connection: &Connection, digest: &KeyDigest) -> rusqlite::Result<bool> {
    connection.prepare_cached(DIGEST_EXISTS)?.query_row([digest.0], |row| row.get(0))
}

pub(super) fn count_live(connection: &Connection, now: Timestamp) -> rusqlite::Result<u32> {
    connection.prepare_cached(COUNT_LIVE)?.query_row([now.0], |row| row.get(0))
}

pub(super) fn insert(connection: &Connection, key: NewApiKey) -> rusqlite::Result<ApiKey> {
    connection.prepare_cached(INSERT)?.execute(params![
        key.name.as_str(),
        key.digest.0,
        key.prefix,
        key.created_at.0,
        key.expires_at.map(|at| at.0)
    ])?;
    Ok(key.with_id(KeyId(connection.last_insert_rowid())))
}

pub(super) fn retire(
    connection: &Connection,
    name: &KeyName,
    now: Timestamp,
    retire_at: Timestamp,
) -> rusqlite::Result<()> {
    connection.prepare_cached(RETIRE)?.execute(params![name.as_str(), now.0, retire_at.0])?;
    Ok(())
}

pub(super) fn revoke(connection: &Connection, id: KeyId, at: Timestamp) -> rusqlite::Result<()> {
    connection.prepare_cached(REVOKE)?.execute([id.0, at.0])?;
    Ok(())
}

pub(super) fn note_use(
    connection: &Connection,
    uses: &[(KeyId, Timestamp)],
) -> rusqlite::Result<()> {
    let mut statement = connection.prepare_cached(NOTE_USE)?;
    for (id, at) in uses {
        statement.execute([id.0, at.0])?;
    }
    Ok(())
}
