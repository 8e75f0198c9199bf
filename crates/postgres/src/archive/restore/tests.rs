//! What others notice of a restore that has stalled.

use std::sync::Arc;

use petstore_domain::Restore as _;
use petstore_testing::postgres_or_skip;

use super::Restoring;
use crate::{
    config::PostgresConfig,
    connector::Purpose,
    store::PostgresStore,
    transaction::{READ_COMMITTED, Transaction},
};

#[tokio::test]
async fn a_restore_that_stalls_holds_its_locks_for_a_bounded_time() {
    let Some(database) = postgres_or_skip("a_restore_that_stalls") else { return };
    let store = PostgresStore::connect(&PostgresConfig::parse(&database.url).unwrap()).await;
    let store = store.unwrap();
    let begin = Transaction::begin(&store.connector, Purpose::Archive, READ_COMMITTED).await;
    let mut restoring = Restoring::new(begin.unwrap(), Arc::clone(&store.version));
    let limit = "SELECT current_setting('idle_in_transaction_session_timeout')";
    let locks = "SELECT count(*) FROM pg_locks JOIN pg_database d ON d.oid = database \
        WHERE d.datname = current_database() AND mode = 'ShareRowExclusiveLock'";
    for (expected_limit, expected_locks) in [("0", "0"), ("5min", "3")] {
        let rows = restoring.transaction.rows(limit, &[]).await.unwrap();
        assert_eq!(rows[0].get::<_, &str>(0), expected_limit);
        assert_eq!(database.sql(locks).unwrap().trim(), expected_locks);
        restoring.pets(Vec::new()).await.unwrap();
    }
}
