//! Rows of the table `api_key`.

use std::fmt::Display;

use petstore_domain::{
    ApiKey, CorruptKey, Corruption, KeyDigest, KeyId, KeyName, KeyRevision, KeyRights, StoreError,
    StoredKeys, Timestamp,
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
pub(crate) const DIGEST_OWNER: &str = "SELECT id FROM api_key WHERE digest = ?1";
/// The revision, what tells of an older release's changes, and the identifiers that were assigned.
pub(crate) const HEAD: &str = "SELECT c.key_revision, k.highest, k.revoked, k.ends, \
     (SELECT seq FROM sqlite_sequence WHERE name = 'api_key') \
     FROM catalogue c, (SELECT max(id) AS highest, count(revoked_at) AS revoked, \
     total(expires_at) AS ends FROM api_key) k WHERE c.only = 1";
const RENEW: &str = "UPDATE catalogue SET key_revision = randomblob(16) WHERE only = 1";
/// Of a key that is stored already, only its ends and its last use change: to the earlier end, and to the
/// later use.
pub(crate) const WRITE: &str = "INSERT INTO api_key \
     (id, name, digest, prefix, created_at, expires_at, revoked_at, last_used_at, rights) \
     VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9) ON CONFLICT (id) DO UPDATE SET \
     expires_at = min(coalesce(expires_at, excluded.expires_at), coalesce(excluded.expires_at, expires_at)), \
     revoked_at = min(coalesce(revoked_at, excluded.revoked_at), coalesce(excluded.revoked_at, revoked_at)), \
     last_used_at = max(coalesce(last_used_at, excluded.last_used_at), \
       coalesce(excluded.last_used_at, last_used_at))";
pub(crate) const REMOVE: &str = "DELETE FROM api_key WHERE id = ?1";

/// What a store says of its keys as a whole.
pub(crate) struct Head {
    pub(crate) revision: KeyRevision,
    next_id: KeyId,
}

/// Returns every key, as of one moment; `None` if the revision is `unless`.
pub(crate) fn load(
    connection: &Connection,
    unless: Option<KeyRevision>,
) -> Result<Option<StoredKeys>, Failure<StoreError>> {
    let snapshot = connection.unchecked_transaction()?;
    let Head { revision, next_id } = head(&snapshot)?;
    if unless == Some(revision) {
        return Ok(None);
    }
    Ok(Some(StoredKeys::new(revision, next_id, select(&snapshot, ALL, [])?)))
}

/// Returns the revision and the next identifier. The triggers renew the revision, and so does [`renew`]. A
/// process of an older release does not, and switches the triggers off. It only adds keys and ends them, so the
/// counts tell.
pub(crate) fn head(connection: &Connection) -> Result<Head, Failure<StoreError>> {
    let head = connection.prepare_cached(HEAD)?.query_row([], |row| {
        let (renewed, highest): ([u8; 16], Option<i64>) = (row.get(0)?, row.get(1)?);
        let (revoked, ends): (i64, f64) = (row.get(2)?, row.get(3)?);
        let (highest, assigned) = (highest.unwrap_or(0), row.get::<_, Option<i64>>(4)?);
        let counts = u128::from((highest ^ revoked << 32).cast_unsigned()) << 64;
        let revision = u128::from_be_bytes(renewed) ^ counts ^ u128::from(ends.to_bits());
        let next_id = highest.max(assigned.unwrap_or(0)).saturating_add(1);
        Ok(Head { revision: KeyRevision(revision), next_id: KeyId(next_id) })
    });
    head.map_err(Failure::from)
}

pub(crate) fn all(connection: &Connection) -> Result<Vec<ApiKey>, Failure<StoreError>> {
    keys(connection, ALL, [])
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
    let rows = select(connection, sql, params)?;
    Ok(rows.into_iter().collect::<Result<_, _>>().map_err(|corrupt| corrupt.corruption)?)
}

/// Returns the keys that `sql` selects, each of them read or corrupt.
fn select(
    connection: &Connection,
    sql: &str,
    params: impl Params,
) -> rusqlite::Result<Vec<Result<ApiKey, CorruptKey>>> {
    let mut statement = connection.prepare_cached(sql)?;
    statement.query_map(params, |row| Ok(api_key(row)))?.collect()
}

/// Returns the key that has this digest.
pub(crate) fn digest_owner(
    connection: &Connection,
    digest: &KeyDigest,
) -> rusqlite::Result<Option<KeyId>> {
    let mut statement = connection.prepare_cached(DIGEST_OWNER)?;
    statement.query_row([digest.0], |row| row.get(0).map(KeyId)).optional()
}

/// Stores keys under their own identifiers, or what has become of them.
pub(crate) fn write(connection: &Connection, keys: &[ApiKey]) -> rusqlite::Result<()> {
    let mut statement = connection.prepare_cached(WRITE)?;
    for key in keys {
        let [expires_at, revoked_at, last_used_at] =
            [key.expires_at, key.revoked_at, key.last_used_at].map(|at| at.map(|at| at.0));
        statement.execute(params![
            key.id.0,
            key.name.as_str(),
            key.digest.0,
            key.prefix,
            key.created_at.0,
            expires_at,
            revoked_at,
            last_used_at,
            key.rights.as_str()
        ])?;
    }
    Ok(())
}

/// Gives the keys another revision, in the transaction that changes them.
pub(crate) fn renew(connection: &Connection) -> rusqlite::Result<()> {
    connection.prepare_cached(RENEW)?.execute([]).map(drop)
}

/// Removes keys. The revision must be renewed in the same transaction.
pub(crate) fn remove(connection: &Connection, keys: &[KeyId]) -> rusqlite::Result<()> {
    let mut statement = connection.prepare_cached(REMOVE)?;
    keys.iter().try_for_each(|id| statement.execute([id.0]).map(drop))
}

/// Returns the key of a row, through the domain's constructors.
fn api_key(row: &Row<'_>) -> Result<ApiKey, CorruptKey> {
    read(row).map_err(|corruption| CorruptKey {
        id: row.get(0).ok().map(KeyId),
        name: row.get(1).ok(),
        corruption,
    })
}

fn read(row: &Row<'_>) -> Result<ApiKey, Corruption> {
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
