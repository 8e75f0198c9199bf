//! Raises the sequence of animals' identifiers when it is behind the rows. Causes are a restore of the data alone,
//! logical replication, and an `INSERT` by hand. The server refuses an animal whose identifier is taken, and rolls the
//! transaction back. Then the sequence is raised to the highest identifier of an animal, and the transaction is
//! repeated. Identifiers of keys use no sequence (`schema/6.sql`).

use crate::{
    connection::READ_COMMITTED, connector::Purpose, error::StoreFailure, pool::Pool, version,
};

/// Selects a row if the sequence is behind `m.id`: the highest identifier of the table, or `$1` if that is higher.
/// Raises the sequence to `m.id` unless `$1` is null. A caller that passes a number must hold the lock of the state.
///
/// The highest identifier is read from the end of its index. With `max`, the server's plan would read every animal.
pub(crate) const RAISE: &str = "SELECT CASE WHEN $1::bigint IS NOT NULL THEN setval('pet_id', m.id) END \
     FROM (SELECT greatest((SELECT id FROM pet ORDER BY id DESC LIMIT 1), $1) AS id) m, pet_id s \
     WHERE s.last_value < m.id OR NOT s.is_called AND s.last_value = m.id";

/// Returns whether the sequence is behind the rows.
pub(crate) async fn are_behind(pool: &Pool) -> Result<bool, StoreFailure> {
    Ok(!pool.query(RAISE, &[&None::<i64>]).await?.is_empty())
}

/// Raises the sequence in a transaction of its own. Every writer locks the state first, so no other writer runs
/// meanwhile.
pub(crate) async fn raise(pool: &Pool) -> Result<(), StoreFailure> {
    let transaction = pool.begin(Purpose::Calls, READ_COMMITTED).await?;
    transaction.query(version::LOCK, &[]).await?;
    transaction.query(RAISE, &[&0_i64]).await?;
    transaction.commit().await
}
