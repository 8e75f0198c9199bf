//! The sequence that identifiers of animals come from, where rows are there that did not come from it: after a restore of
//! the data alone, under a logical replication, or written by hand.
//!
//! The server refuses an animal whose identifier is taken, with the whole transaction. Then the sequence is raised
//! above the highest animal, and the transaction is repeated. Identifiers of keys come
//! from no sequence (`schema/6.sql`).

use crate::{connection::Connection, error::StoreFailure, pool::Pool};

/// Waits for the writers that are under way, and keeps others out until the transaction ends. They wait behind it,
/// so it gives up soon, but not before the server has ended an automatic vacuum that is in its way, which it does
/// after `deadlock_timeout`: 1 s.
const LOCK: &str = "SET LOCAL lock_timeout = '1500ms'; \
     LOCK TABLE idempotency, pet, api_key IN SHARE ROW EXCLUSIVE MODE";

/// What is selected where the sequence is behind the highest identifier `m.id`, or behind a `floor`. The highest one is
/// the first of its index: `max` would be planned here to read every animal.
macro_rules! where_behind {
    ($select:literal, $floor:literal) => {
        concat!(
            "SELECT ",
            $select,
            " FROM (SELECT greatest((SELECT id FROM pet ORDER BY id DESC LIMIT 1), ",
            $floor,
            ") AS id) m, pet_id s WHERE s.last_value < m.id OR NOT s.is_called AND s.last_value = m.id"
        )
    };
}

/// Lets the next identifier be above the highest of the table, and above `$1`. Whoever calls it has locked the table.
pub(crate) const RAISE: &str = where_behind!("setval('pet_id', m.id)", "$1::bigint");
const IS_BEHIND: &str = where_behind!("1", "NULL");

/// Returns whether the sequence will give an identifier that is taken.
pub(crate) async fn are_behind(pool: &Pool) -> Result<bool, StoreFailure> {
    Ok(!pool.query(IS_BEHIND, &[]).await?.is_empty())
}

/// Raises it, in a transaction that has just begun, and commits.
pub(crate) async fn raise(transaction: &Connection) -> Result<(), StoreFailure> {
    transaction.batch(LOCK).await?;
    transaction.query(RAISE, &[&None::<i64>]).await?;
    transaction.commit().await
}
