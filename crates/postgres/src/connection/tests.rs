//! Statements without an answer.

use std::time::Duration;

use petstore_testing::{Database, needs};
use tokio::{runtime::Handle, time};

use super::READ_COMMITTED;
use crate::{
    config::PostgresConfig,
    connector::{Connector, Purpose},
    error::StoreFailure,
    pool::Pool,
};

#[needs(postgres)]
#[tokio::test]
async fn a_statement_without_an_answer_ends_within_the_timeout() {
    let database = Database::create().unwrap();
    let url = format!("{}?statement_timeout=20s&call_timeout=2s", database.url);
    let pool = Pool::new(Connector::new(&PostgresConfig::parse(&url).unwrap()).unwrap());
    for is_batch in [false, true] {
        let connection = pool.begin(Purpose::Calls, READ_COMMITTED).await.unwrap();
        let waited = if is_batch {
            connection.batch("SELECT pg_sleep(60)").await
        } else {
            connection.query("SELECT pg_sleep(60)", &[]).await.map(drop)
        };
        assert!(
            matches!(waited, Err(StoreFailure::Deadline(limit)) if limit.as_secs() == 2),
            "{is_batch}: {waited:?}"
        );
    }
}

/// Without the cut, a pooler would keep its connections to the client and to the server for a statement that nobody
/// waits for.
#[needs(postgres)]
#[tokio::test]
async fn dropping_a_connection_during_a_statement_cuts_it_off() {
    let database = Database::create().unwrap();
    let config = PostgresConfig::parse(&database.url).unwrap();
    let connection = Connector::new(&config).unwrap().connect(Purpose::Archive).await.unwrap();
    let tasks = || Handle::current().metrics().num_alive_tasks();
    let statement = connection.query("SELECT pg_sleep(60)", &[]);
    assert!(time::timeout(Duration::from_millis(200), statement).await.is_err());
    assert_eq!(tasks(), 1);
    drop(connection);
    time::sleep(Duration::from_secs(2)).await;
    assert_eq!(tasks(), 0);
}
