//! What a connection says of a commit.

use petstore_testing::{needs, postgres_or_skip};

use crate::{
    config::PostgresConfig,
    connector::{Connector, Purpose},
};

#[needs(postgres)]
#[tokio::test]
async fn a_rollback_after_a_transaction_that_has_ended_does_not_cast_doubt_on_the_next_commit() {
    let Some(database) = postgres_or_skip("a_rollback_after_a_transaction") else { return };
    let connector = Connector::new(&PostgresConfig::parse(&database.url).unwrap()).unwrap();
    let connection = connector.connect(Purpose::Calls).await.unwrap();
    connection.begin("BEGIN").await.unwrap();
    assert!(connection.rows("SELECT 1 / 0", &[]).await.is_err());
    connection.commit().await.unwrap();
    // The server warns that there is no transaction.
    connection.rollback().await.unwrap();
    connection.begin("BEGIN").await.unwrap();
    connection.commit().await.unwrap();
}
