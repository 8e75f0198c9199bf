//! The time limits of a batch.

use petstore_domain::WriterRole;
use petstore_testing::{Database, needs};

use crate::{
    config::PostgresConfig,
    connection::{APPENDING, APPENDING_LOCKED, WRITING},
    store::PostgresStore,
};

#[needs(postgres)]
#[tokio::test]
async fn each_batch_that_excludes_writers_has_short_time_limits() {
    let database = Database::create().unwrap();
    let url = format!("{}?options=-c%20default_transaction_isolation%3Dserializable", database.url);
    let store = PostgresStore::connect(&PostgresConfig::parse(&url).unwrap()).await;
    let limits = "SELECT current_setting('idle_in_transaction_session_timeout') || ' ' || \
         current_setting('statement_timeout') || ' ' || current_setting('transaction_isolation')";
    for begin in [WRITING, APPENDING, APPENDING_LOCKED] {
        let begun = store.as_ref().unwrap().begin_writing(begin, WriterRole::Service).await;
        let found: String = begun.unwrap().query(limits, &[]).await.unwrap()[0].get(0);
        assert_eq!(found, "3s 30s read committed", "{begin}");
    }
}
