//! Batches of animals in different orders, and the time limits of a batch.

use petstore_domain::{Archive as _, CategoryId, NewPet, PetId, PetName, Rows, WriterRole};
use petstore_testing::{Database, needs};

use crate::{
    config::PostgresConfig,
    connection::{APPENDING_LOCKED, WRITING},
    store::PostgresStore,
};

fn rows(ids: &[i64]) -> Rows {
    let pet = |id: &i64| {
        let name = PetName::parse(format!("Rex {id}")).unwrap();
        NewPet { name, category_id: CategoryId(1), status: None }.with_id(PetId(*id))
    };
    Rows { pets: ids.iter().map(pet).collect(), ..Rows::default() }
}

#[needs(postgres)]
#[tokio::test]
async fn only_missing_animals_are_written_in_any_order() {
    let database = Database::create().unwrap();
    let store = PostgresStore::connect(&PostgresConfig::parse(&database.url).unwrap()).await;
    let store = store.unwrap();
    let batches: [(&[i64], u64); 6] =
        [(&[1, 2, 3], 3), (&[9, 8], 2), (&[12, 12], 1), (&[2, 4], 1), (&[4, 5, 7], 2), (&[6], 1)];
    for (ids, added) in batches {
        let new = store.write_rows(WriterRole::Service, rows(ids)).await.unwrap();
        assert_eq!(new, added, "{ids:?}");
    }
    let names = "SELECT string_agg(name, ' ' ORDER BY id) FROM pet";
    let all = "Rex 1 Rex 2 Rex 3 Rex 4 Rex 5 Rex 6 Rex 7 Rex 8 Rex 9 Rex 12";
    assert_eq!(database.sql(names).unwrap().trim(), all);
}

#[needs(postgres)]
#[tokio::test]
async fn each_batch_that_excludes_writers_has_short_time_limits() {
    let database = Database::create().unwrap();
    let store = PostgresStore::connect(&PostgresConfig::parse(&database.url).unwrap()).await;
    let limits = "SELECT current_setting('idle_in_transaction_session_timeout') || ' ' || \
         current_setting('statement_timeout')";
    for begin in [WRITING, APPENDING_LOCKED] {
        let begun = store.as_ref().unwrap().begin_writing(begin, WriterRole::Service).await;
        let found: String = begun.unwrap().query(limits, &[]).await.unwrap()[0].get(0);
        assert_eq!(found, "3s 30s", "{begin}");
    }
}
