//! The row of the table `petstore_relocation`, which is there only while the store is being moved.

use petstore_domain::{
    Corruption, Differences, IdempotencyRecord, Pet, Relocation, Role, StoreError,
};
use tokio_postgres::Row;

use crate::{
    connection::Connection,
    error::StoreFailure,
    pets::{idempotency, rows},
    values::Values,
};

/// What a move needs besides the schema.
pub(super) const CREATE: &str = include_str!("../relocation.sql");
/// The function takes its triggers with it.
pub(super) const DROP: &str = "DROP FUNCTION petstore_fence() CASCADE; DROP INDEX idempotency_by_pet; \
     DROP TABLE petstore_relocation";
/// Waits for the writers that are under way, and keeps others out until the transaction ends. They wait
/// behind it, so it gives up soon, but not before the server has ended an automatic vacuum that is in its way,
/// which it does after `deadlock_timeout`: 1 s.
pub(crate) const LOCK: &str = "SET LOCAL lock_timeout = '1500ms'; \
     LOCK TABLE idempotency, pet, api_key IN SHARE ROW EXCLUSIVE MODE";
/// Says to the fence who writes.
pub(super) const AS_FOLLOWER: &str = "SET LOCAL petstore.follower = 'on'";
pub(crate) const EXISTS: &str = "SELECT to_regclass('petstore_relocation') IS NOT NULL";
pub(super) const SELECT: &str =
    "SELECT role, revision, peer, differences, last_difference FROM petstore_relocation";
pub(super) const INSERT: &str = "INSERT INTO petstore_relocation \
     (only_row, role, revision, peer, differences, last_difference) VALUES (1, $1, $2, $3, $4, $5)";
pub(super) const CHANGE: &str = "UPDATE petstore_relocation \
     SET role = $2::text, revision = $3, peer = $4::text WHERE revision = $1 RETURNING 1";
pub(super) const NOTE: &str = "UPDATE petstore_relocation \
     SET differences = differences + $1, last_difference = $2::text";
pub(super) const PETS: &str = "SELECT id, name, category_id, status FROM pet \
     WHERE id >= $1 AND id <= $2 ORDER BY id LIMIT $3";
pub(super) const RECORDS: &str = "SELECT id, fingerprint, pet_id, created_at \
     FROM idempotency WHERE pet_id BETWEEN $1 AND $2";
pub(super) const OLDEST_RECORD: &str = "SELECT min(created_at) FROM idempotency";
pub(crate) const PURGE: &str = "DELETE FROM idempotency WHERE id IN (SELECT id \
     FROM idempotency WHERE created_at < $1 AND pet_id <= $2 ORDER BY created_at LIMIT $3)";

/// Whether the only column of the only row is true.
pub(crate) fn is_true(rows: &[Row]) -> Result<bool, StoreFailure> {
    Ok(rows.first().map_or(Ok(false), |row| row.try_get(0))?)
}

/// The row of [`SELECT`].
pub(super) fn relocation(rows: &[Row]) -> Result<Option<Relocation>, StoreError> {
    let broken = |rule: &dyn std::fmt::Display| Corruption::new("its row of a move", rule);
    let Some(row) = rows.first() else { return Ok(None) };
    let read = || -> Result<_, tokio_postgres::Error> {
        let differences = Differences { count: row.try_get(3)?, last: row.try_get(4)? };
        Ok((row.try_get::<_, &str>(0)?, row.try_get(1)?, row.try_get(2)?, differences))
    };
    let (word, revision, peer, differences) = read().map_err(|error| broken(&error))?;
    let role = Role::parse(word)
        .ok_or_else(|| broken(&format_args!("the role is known, not '{word}'")))?;
    Ok(Some(Relocation { role, revision, peer, differences }))
}

/// Writes the row of a move that begins.
pub(super) async fn insert(transaction: &Connection, row: &Relocation) -> Result<(), StoreFailure> {
    let Relocation { role, revision, peer, differences: Differences { count, last } } = row;
    let values: Values<'_> = &[&role.as_str(), revision, peer, count, last];
    transaction.query(INSERT, values).await.map(drop)
}

/// The number of [`OLDEST_RECORD`] or of the highest identifier; `None` if the table is empty.
pub(super) fn number(rows: &[Row]) -> Result<Option<i64>, StoreFailure> {
    Ok(rows.first().map_or(Ok(None), |row| row.try_get(0))?)
}

/// Rows of [`PETS`].
pub(super) fn pets(rows: &[Row]) -> Result<Vec<Pet>, StoreError> {
    Ok(rows.iter().map(|row| rows::pet(row, 0)).collect::<Result<_, _>>()?)
}

/// Rows of [`RECORDS`].
pub(super) fn records(rows: &[Row]) -> Result<Vec<IdempotencyRecord>, StoreError> {
    Ok(rows.iter().map(idempotency::record).collect::<Result<_, _>>()?)
}
