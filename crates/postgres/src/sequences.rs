//! Raises the sequence of animals' identifiers when it is behind the rows. Causes are a restore of the data alone,
//! logical replication, and an `INSERT` by hand. The server refuses an animal whose identifier is taken, and rolls the
//! transaction back. Then the sequence is raised above the highest animal, and the transaction is repeated. Identifiers
//! of keys use no sequence (`schema/6.sql`).

use crate::{connection::READ_COMMITTED, connector::Purpose, error::StoreFailure, pool::Pool};

/// Waits for running writers, and locks out others until the transaction ends. Other writers queue behind this lock, so
/// its time limit is short. The limit is longer than `deadlock_timeout` (1 s), after which the server ends an automatic
/// vacuum in its way.
const LOCK: &str = "SET LOCAL lock_timeout = '1500ms'; \
     LOCK TABLE idempotency, pet, api_key IN SHARE ROW EXCLUSIVE MODE";

/// Selects a row if the sequence is behind the highest identifier `m.id`, or behind `$floor`. The highest identifier is
/// read from the end of its index, because `max` would be planned here to read every animal.
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

/// Raises the sequence above the highest identifier of the table and above `$1`. The caller has locked the table.
pub(crate) const RAISE: &str = where_behind!("setval('pet_id', m.id)", "$1::bigint");
const IS_BEHIND: &str = where_behind!("1", "NULL");

/// Returns whether the sequence is behind the rows.
pub(crate) async fn are_behind(pool: &Pool) -> Result<bool, StoreFailure> {
    Ok(!pool.query(IS_BEHIND, &[]).await?.is_empty())
}

/// Raises the sequence in a transaction of its own.
pub(crate) async fn raise(pool: &Pool) -> Result<(), StoreFailure> {
    let transaction = pool.begin(Purpose::Calls, READ_COMMITTED).await?;
    transaction.batch(LOCK).await?;
    transaction.query(RAISE, &[&None::<i64>]).await?;
    transaction.commit().await
}

#[cfg(test)]
mod tests {
    use petstore_testing::{needs, postgres_or_skip};

    use super::{IS_BEHIND, RAISE};
    use crate::{
        config::PostgresConfig,
        connector::{Connector, Purpose},
        store::PostgresStore,
    };

    /// Each batch of an import runs these statements.
    #[needs(postgres)]
    #[tokio::test]
    async fn the_highest_identifier_is_read_from_the_index_at_every_table_size() {
        let database = postgres_or_skip("the_highest_identifier_is_looked_for").unwrap();
        let config = PostgresConfig::parse(&database.url).unwrap();
        drop(PostgresStore::connect(&config).await.unwrap());
        for purpose in [Purpose::Calls, Purpose::Archive] {
            let connection = Connector::new(&config).unwrap().connect(purpose).await.unwrap();
            for (sql, values) in [(IS_BEHIND, ""), (RAISE, "(NULL)")] {
                connection.batch(&format!("PREPARE asked AS {sql}")).await.unwrap();
                let explain = format!("EXPLAIN EXECUTE asked{values}").leak();
                let plan = connection.query_alone(explain, &[]).await.unwrap();
                let plan: Vec<&str> = plan.iter().map(|row| row.get(0)).collect();
                let plan = plan.join("\n");
                assert!(plan.contains("Scan Backward using pet_pkey on pet"), "{plan}");
                connection.batch("DEALLOCATE asked").await.unwrap();
            }
            database
                .sql("INSERT INTO pet (name, category_id) SELECT 'Rex', 1 FROM generate_series(1, 500)")
                .unwrap();
        }
    }
}
