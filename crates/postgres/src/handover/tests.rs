use std::time::Duration;

use petstore_domain::Handover as _;
use petstore_testing::{Database, needs, postgres_or_skip};
use tokio::{task, time};

use crate::{
    config::PostgresConfig,
    connection::{Connection, READ_COMMITTED},
    connector::Purpose,
    store::PostgresStore,
};

/// An addition of petstore's, which locks the row of the version only when it renews that.
const ADD: &str = "SET LOCAL petstore.writer = 'on'; \
     INSERT INTO pet (name, category_id) VALUES ('Rex', 1)";

/// An empty store, and a transaction that is open.
async fn open(test: &str) -> Option<(Database, PostgresStore, Connection)> {
    let database = postgres_or_skip(test)?;
    let config = PostgresConfig::parse(&database.url).unwrap();
    let store = PostgresStore::connect(&config).await.unwrap();
    let begin = store.pool.begin(Purpose::Archive, READ_COMMITTED);
    let transaction = begin.await.unwrap();
    Some((database, store, transaction))
}

#[needs(postgres)]
#[tokio::test]
async fn the_horizon_waits_for_a_lower_identifier_that_is_not_committed() {
    let test = "the_horizon_waits_for_a_lower_identifier";
    let Some((database, store, transaction)) = open(test).await else { return };
    transaction.batch(ADD).await.unwrap();
    database.sql(ADD).unwrap();
    let horizon = task::spawn(async move { store.changes(None, 9).await });
    time::sleep(Duration::from_millis(50)).await;
    assert!(!horizon.is_finished());
    transaction.commit().await.unwrap();
    assert_eq!(horizon.await.unwrap().unwrap().pets.len(), 2);
}

#[needs(postgres)]
#[tokio::test]
async fn a_writer_that_does_not_end_is_not_waited_for_without_end() {
    let test = "a_writer_that_does_not_end";
    let Some((_database, store, transaction)) = open(test).await else { return };
    transaction.batch(ADD).await.unwrap();
    store.changes(None, 9).await.unwrap_err();
    drop(transaction);
}

/// As it does for minutes in a table of millions.
#[needs(postgres)]
#[tokio::test]
async fn a_vacuum_does_not_hold_up_the_horizon() {
    let test = "a_vacuum_does_not_hold_up_the_horizon";
    let Some((database, store, transaction)) = open(test).await else { return };
    database.sql(ADD).unwrap();
    let vacuum = "LOCK TABLE pet, idempotency IN SHARE UPDATE EXCLUSIVE MODE";
    transaction.batch(vacuum).await.unwrap();
    assert_eq!(store.changes(None, 9).await.unwrap().pets.len(), 1);
    transaction.commit().await.unwrap();
}
