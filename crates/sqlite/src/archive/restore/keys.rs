//! API keys of a restore.

use petstore_domain::{ApiKey, KeyDigest, KeyId, RestoreError};
use rusqlite::{Connection, OptionalExtension, params};

use super::conflict;
use crate::{
    api_keys::rows::{BY_ID, api_key},
    error::Failure,
};

const INSERT: &str = "INSERT INTO api_key \
     (id, name, digest, prefix, created_at, expires_at, revoked_at, last_used_at) \
     VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8)";
const JOIN: &str = "UPDATE api_key SET expires_at = ?2, revoked_at = ?3, last_used_at = ?4 \
     WHERE id = ?1";
const OWNER_OF_DIGEST: &str = "SELECT id FROM api_key WHERE digest = ?1";

pub(super) fn restore(connection: &Connection, key: &ApiKey) -> Result<(), Failure<RestoreError>> {
    let refused = || conflict(format_args!("API key {}", key.id.0));
    let Some(there) = find(connection, key.id)? else {
        if owner_of(connection, &key.digest)?.is_some() {
            return Err(refused());
        }
        return Ok(insert(connection, key)?);
    };
    let ApiKey { id, expires_at, revoked_at, last_used_at, .. } =
        there.merged_with(key).ok_or_else(refused)?;
    connection.prepare_cached(JOIN)?.execute(params![
        id.0,
        expires_at.map(|at| at.0),
        revoked_at.map(|at| at.0),
        last_used_at.map(|at| at.0)
    ])?;
    Ok(())
}

fn find(connection: &Connection, id: KeyId) -> Result<Option<ApiKey>, Failure<RestoreError>> {
    let mut statement = connection.prepare_cached(BY_ID)?;
    let found = statement.query_row([id.0], |row| Ok(api_key(row))).optional()?;
    Ok(found.transpose()?)
}

fn owner_of(connection: &Connection, digest: &KeyDigest) -> rusqlite::Result<Option<i64>> {
    let mut statement = connection.prepare_cached(OWNER_OF_DIGEST)?;
    statement.query_row([digest.0], |row| row.get(0)).optional()
}

fn insert(connection: &Connection, key: &ApiKey) -> rusqlite::Result<()> {
    let ApiKey { id, name, digest, prefix, created_at, expires_at, revoked_at, last_used_at } = key;
    connection.prepare_cached(INSERT)?.execute(params![
        id.0,
        name.as_str(),
        digest.0,
        prefix,
        created_at.0,
        expires_at.map(|at| at.0),
        revoked_at.map(|at| at.0),
        last_used_at.map(|at| at.0)
    ])?;
    Ok(())
}
