//! Rows of the table `api_key`.

use petstore_domain::{
    ApiKey, CorruptKey, Corruption, KeyDigest, KeyId, KeyName, KeyRevision, KeyRights, StoreError,
    StoredKeys, Timestamp,
};
use tokio_postgres::Row;

use crate::{
    connection::Connection,
    error::StoreFailure,
    values::{Fields, Values},
};

/// The columns of a key.
macro_rules! columns {
    () => {
        "id, name, digest, prefix, created_at, expires_at, revoked_at, last_used_at, rights"
    };
}

pub(crate) const ALL: &str = concat!("SELECT ", columns!(), " FROM api_key ORDER BY id");
pub(super) const BY_ID: &str = concat!("SELECT ", columns!(), " FROM api_key WHERE id = ANY($1)");
pub(crate) const BY_ID_OR_DIGEST: &str =
    concat!("SELECT ", columns!(), " FROM api_key WHERE id = ANY($1) OR digest = ANY($2)");
/// Each key, with the revision of them all and the highest identifier there was. One row without a key if
/// there is none, or if the revision is `$1`; then the table is not read (it would be without `OFFSET`).
pub(super) const LOAD: &str = concat!(
    "SELECT ",
    columns!(),
    ", key_revision, highest_key_id FROM catalogue c LEFT JOIN LATERAL \
     (SELECT * FROM api_key WHERE c.key_revision IS DISTINCT FROM $1::bytea OFFSET 0) k ON true \
     WHERE c.only_row = 1 ORDER BY id"
);
/// The revision, in the row that every writer locks first. Older releases change keys under the lock of another
/// row, which is taken before.
pub(super) const LOCK: &str = "SELECT c.key_revision \
     FROM (SELECT FROM api_key_guard WHERE only_row = 1 FOR UPDATE) g, catalogue c \
     WHERE c.only_row = 1 FOR NO KEY UPDATE OF c";
/// Of a key that is stored already, only its ends and its last use change: to the earlier end, and to the
/// later use.
const WRITE: &str = "INSERT INTO api_key AS k (id, name, digest, prefix, created_at, expires_at, \
       revoked_at, last_used_at, rights) \
     SELECT * FROM unnest($1::bigint[], $2::text[], $3::bytea[], $4::text[], $5::bigint[], \
       $6::bigint[], $7::bigint[], $8::bigint[], $9::text[]) \
     ON CONFLICT (id) DO UPDATE SET expires_at = least(k.expires_at, excluded.expires_at), \
       revoked_at = least(k.revoked_at, excluded.revoked_at), \
       last_used_at = greatest(k.last_used_at, excluded.last_used_at)";
pub(super) const REMOVE: &str = "DELETE FROM api_key WHERE id = ANY($1)";
/// A statement of its own: a trigger renews the revision at every other, whatever it changes.
const NOTE_USES: &str = "UPDATE api_key AS k SET last_used_at = greatest(k.last_used_at, u.at) \
     FROM unnest($1::bigint[], $2::bigint[]) AS u (id, at) WHERE k.id = u.id";

/// Returns the keys of [`LOAD`]; `None` if the revision is `unless`.
pub(super) fn loaded(
    rows: &[Row],
    unless: Option<KeyRevision>,
) -> Result<Option<StoredKeys>, StoreError> {
    let revision = revision(rows.first(), 9)?;
    if unless == Some(revision) {
        return Ok(None);
    }
    let highest = rows.first().and_then(|row| row.try_get(10).ok());
    let next_id = KeyId(highest.unwrap_or(0_i64).saturating_add(1));
    // Of no key, there is a row without an identifier.
    let rows = rows.iter().filter(|row| !matches!(row.try_get(0), Ok(None::<i64>)));
    Ok(Some(StoredKeys::new(revision, next_id, rows.map(api_key))))
}

/// Returns the revision in a column of a row.
pub(super) fn revision(row: Option<&Row>, column: usize) -> Result<KeyRevision, StoreError> {
    let bytes = row.and_then(|row| row.try_get::<_, &[u8]>(column).ok());
    let bytes = bytes.and_then(|bytes| <[u8; 16]>::try_from(bytes).ok());
    let missing =
        || StoreError::corrupt("the revision of the API keys", "there is one, of 16 bytes");
    bytes.map(|bytes| KeyRevision(u128::from_be_bytes(bytes))).ok_or_else(missing)
}

pub(crate) fn keys(rows: &[Row]) -> Result<Vec<ApiKey>, StoreError> {
    Ok(rows.iter().map(read).collect::<Result<_, _>>()?)
}

fn api_key(row: &Row) -> Result<ApiKey, CorruptKey> {
    read(row).map_err(|corruption| CorruptKey {
        id: row.try_get(0).ok().map(KeyId),
        name: row.try_get(1).ok(),
        corruption,
    })
}

fn read(row: &Row) -> Result<ApiKey, Corruption> {
    let fields = Fields::new(row, 0, "API key", 0)?;
    let prefix: String = fields.get(3)?;
    // A release that does not know the column leaves it empty.
    let rights = match fields.get::<Option<&str>>(8)? {
        Some(word) => {
            KeyRights::parse(word).ok_or_else(|| fields.corrupt("its rights are known"))?
        }
        None => KeyRights::of_prefix(&prefix),
    };
    let time = |index| Ok(fields.get::<Option<i64>>(index)?.map(Timestamp));
    Ok(ApiKey {
        id: KeyId(fields.id()),
        name: KeyName::parse(fields.get(1)?).map_err(|rule| fields.corrupt(rule))?,
        digest: KeyDigest(fields.bytes(2, "a digest has 32 bytes")?),
        prefix,
        rights,
        created_at: Timestamp(fields.get(4)?),
        expires_at: time(5)?,
        revoked_at: time(6)?,
        last_used_at: time(7)?,
    })
}

/// Stores keys under their own identifiers, or what has become of them.
pub(crate) async fn write(transaction: &Connection, keys: &[ApiKey]) -> Result<(), StoreFailure> {
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

/// Stores the last uses of keys that are there, and leaves the revision.
pub(super) async fn note_uses(
    transaction: &Connection,
    keys: &[ApiKey],
) -> Result<(), StoreFailure> {
    let ids: Vec<i64> = keys.iter().map(|key| key.id.0).collect();
    transaction.query(NOTE_USES, &[&ids, &times(keys, |key| key.last_used_at)]).await?;
    Ok(())
}

/// Returns one time of each key, as an array.
fn times(keys: &[ApiKey], time: impl Fn(&ApiKey) -> Option<Timestamp>) -> Vec<Option<i64>> {
    keys.iter().map(|key| time(key).map(|at| at.0)).collect()
}
