//! Rows of the table `api_key`.

use petstore_domain::{ApiKey, Corruption, KeyDigest, KeyId, KeyName, NewApiKey, Timestamp};
use tokio_postgres::{Row, types::FromSql};

use crate::{
    connection::Values,
    error::{StoreFailure, corruption},
    transaction::Transaction,
};

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
pub(crate) const BY_ID: &str = select!("WHERE id = ANY($1) ORDER BY id");
pub(crate) const LIVE: &str =
    select!("WHERE revoked_at IS NULL AND (expires_at IS NULL OR expires_at > $1) ORDER BY id");
pub(crate) const NOT_REVOKED_BY_ID: &str = select!("WHERE id = $1 AND revoked_at IS NULL");
pub(crate) const NOT_REVOKED_BY_NAME: &str =
    select!("WHERE name = $1 AND revoked_at IS NULL ORDER BY id");
/// Until the transaction ends, nobody else gets it.
pub(crate) const GUARD: &str = "SELECT only_row FROM api_key_guard WHERE only_row = 1 FOR UPDATE";
const NAME_IS_LIVE: &str = "SELECT EXISTS (SELECT 1 FROM api_key WHERE name = $1 \
     AND revoked_at IS NULL AND (expires_at IS NULL OR expires_at > $2))";
const COUNT_LIVE: &str = "SELECT count(*) FROM api_key \
     WHERE revoked_at IS NULL AND (expires_at IS NULL OR expires_at > $1)";
const INSERT: &str = "INSERT INTO api_key (name, digest, prefix, created_at, expires_at) \
     VALUES ($1, $2, $3, $4, $5) RETURNING id";
/// Live now (`$2`), and not expiring by `$3` anyway.
pub(crate) const RETIRE: &str = "UPDATE api_key SET expires_at = $3 WHERE name = $1 \
     AND revoked_at IS NULL AND (expires_at IS NULL OR (expires_at > $2 AND expires_at > $3))";
pub(crate) const REVOKE: &str = "UPDATE api_key SET revoked_at = $2 WHERE id = ANY($1)";
pub(crate) const NOTE_USE: &str = "UPDATE api_key AS k SET last_used_at = u.at \
     FROM unnest($1::bigint[], $2::bigint[]) AS u (id, at) \
     WHERE k.id = u.id AND (k.last_used_at IS NULL OR k.last_used_at < u.at)";

pub(crate) fn keys(rows: &[Row]) -> Result<Vec<ApiKey>, Corruption> {
    rows.iter().map(api_key).collect()
}

/// The key of a row, through the doors of the domain.
fn api_key(row: &Row) -> Result<ApiKey, Corruption> {
    let id = row.try_get(0).map(KeyId).map_err(|error| corruption("an API key", error))?;
    let name: &str = column(row, id, 1)?;
    let digest: &[u8] = column(row, id, 2)?;
    Ok(ApiKey {
        id,
        name: KeyName::parse(name).map_err(|rule| broken(id, rule))?,
        digest: KeyDigest(digest.try_into().map_err(|_| broken(id, "a digest has 32 bytes"))?),
        prefix: column(row, id, 3)?,
        created_at: Timestamp(column(row, id, 4)?),
        expires_at: column::<Option<i64>>(row, id, 5)?.map(Timestamp),
        revoked_at: column::<Option<i64>>(row, id, 6)?.map(Timestamp),
        last_used_at: column::<Option<i64>>(row, id, 7)?.map(Timestamp),
    })
}

fn column<'a, T: FromSql<'a>>(row: &'a Row, id: KeyId, index: usize) -> Result<T, Corruption> {
    row.try_get(index).map_err(|error| broken(id, error))
}

fn broken(id: KeyId, rule: impl std::fmt::Display) -> Corruption {
    corruption(format!("API key {}", id.0), rule)
}

pub(super) async fn name_is_live(
    transaction: &Transaction,
    name: &KeyName,
    now: Timestamp,
) -> Result<bool, StoreFailure> {
    let rows = transaction.rows(NAME_IS_LIVE, &[&name.as_str(), &now.0]).await?;
    first(&rows)
}

pub(super) async fn count_live(
    transaction: &Transaction,
    now: Timestamp,
) -> Result<i64, StoreFailure> {
    let rows = transaction.rows(COUNT_LIVE, &[&now.0]).await?;
    first(&rows)
}

pub(super) async fn insert(
    transaction: &Transaction,
    key: NewApiKey,
) -> Result<ApiKey, StoreFailure> {
    let expires_at = key.expires_at.map(|at| at.0);
    let digest: &[u8] = &key.digest.0;
    let name = key.name.as_str();
    let values: Values<'_> = &[&name, &digest, &key.prefix, &key.created_at.0, &expires_at];
    let rows = transaction.rows(INSERT, values).await?;
    let id = first(&rows)?;
    Ok(key.with_id(KeyId(id)))
}

/// The one column of the one row that there always is.
fn first<'a, T: FromSql<'a>>(rows: &'a [Row]) -> Result<T, StoreFailure> {
    rows.first().map_or(Err(StoreFailure::Contention), |row| Ok(row.try_get(0)?))
}
