//! The sequence that identifiers of animals come from, where rows are there that did not come from it: after a restore of
//! the data alone, under a logical replication, or written by hand.
//!
//! The server refuses an animal whose identifier is taken, with the whole transaction. Then the sequence is raised
//! above the highest animal, and the transaction is repeated. Identifiers of keys come
//! from no sequence (`schema/6.sql`).

use crate::{connection::Connection, error::StoreFailure, pool::Pool, values::column};

/// Waits for the writers that are under way, and keeps others out until the transaction ends. They wait behind it,
/// so it gives up soon, but not before the server has ended an automatic vacuum that is in its way, which it does
/// after `deadlock_timeout`: 1 s.
const LOCK: &str = "SET LOCAL lock_timeout = '1500ms'; \
     LOCK TABLE idempotency, pet, api_key IN SHARE ROW EXCLUSIVE MODE";

/// What decides of a sequence `s` whether it is behind the highest identifier `m.id`.
macro_rules! is_behind {
    () => {
        "(s.last_value < m.id OR NOT s.is_called AND s.last_value = m.id)"
    };
}

/// Lets the next identifier be above the highest of the table, and above `$1`. Whoever calls it has locked the table.
pub(crate) const RAISE: &str = concat!(
    "SELECT setval('pet_id', m.id) FROM (SELECT greatest(max(id), $1::bigint) AS id FROM pet) m, pet_id s \
     WHERE ",
    is_behind!()
);
const BEHIND: &str = concat!(
    "SELECT 'pet_id' FROM (SELECT max(id) AS id FROM pet) m, pet_id s WHERE ",
    is_behind!()
);

/// Returns the names of the sequences that will give an identifier that is taken.
pub(crate) async fn behind(pool: &Pool) -> Result<Vec<String>, StoreFailure> {
    column(&pool.query(BEHIND, &[]).await?)
}

/// Raises them, in a transaction that has just begun, and commits.
pub(crate) async fn raise(transaction: &Connection) -> Result<(), StoreFailure> {
    transaction.batch(LOCK).await?;
    transaction.query(RAISE, &[&None::<i64>]).await?;
    transaction.commit().await
}
