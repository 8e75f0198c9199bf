//! What a restore makes of batches of every kind, and what others notice of one that has stalled.

use std::sync::Arc;

use petstore_domain::{CategoryId, NewPet, Pet, PetId, PetName, Restore as _, RestoreError};
use petstore_testing::{needs, postgres_or_skip};

use super::Restoring;
use crate::{
    config::PostgresConfig, connection::READ_COMMITTED, connector::Purpose, store::PostgresStore,
};

#[needs(postgres)]
#[tokio::test]
async fn a_restore_that_stalls_holds_its_locks_for_a_bounded_time() {
    let Some(database) = postgres_or_skip("a_restore_that_stalls") else { return };
    let store = PostgresStore::connect(&PostgresConfig::parse(&database.url).unwrap()).await;
    let store = store.unwrap();
    let begin = store.pool.begin(Purpose::Archive, READ_COMMITTED).await;
    let mut restoring = Restoring::new(begin.unwrap(), Arc::clone(&store.version));
    let limit = "SELECT current_setting('idle_in_transaction_session_timeout')";
    let locks = "SELECT count(*) FROM pg_locks JOIN pg_database d ON d.oid = database \
        WHERE d.datname = current_database() AND mode = 'ShareRowExclusiveLock'";
    for (expected_limit, expected_locks) in [("0", "0"), ("5min", "3")] {
        let rows = restoring.transaction.query(limit, &[]).await.unwrap();
        assert_eq!(rows[0].get::<_, &str>(0), expected_limit);
        assert_eq!(database.sql(locks).unwrap().trim(), expected_locks);
        restoring.pets(Vec::new()).await.unwrap();
    }
}

fn pets(ids: &[i64]) -> Vec<Pet> {
    let pet = |id: &i64| {
        let name = PetName::parse(format!("Rex {id}")).unwrap();
        NewPet { name, category_id: CategoryId(1), status: None }.with_id(PetId(*id))
    };
    ids.iter().map(pet).collect()
}

#[needs(postgres)]
#[tokio::test]
async fn only_animals_that_are_not_there_are_written_whatever_their_order() {
    let Some(database) = postgres_or_skip("only_animals_that_are_not_there") else { return };
    let store = PostgresStore::connect(&PostgresConfig::parse(&database.url).unwrap()).await;
    let store = store.unwrap();
    let begin = || store.pool.begin(Purpose::Archive, READ_COMMITTED);
    let mut restoring = Restoring::new(begin().await.unwrap(), Arc::clone(&store.version));
    let batches: [(&[i64], u64); 6] =
        [(&[1, 2, 3], 3), (&[9, 8], 2), (&[12, 12], 1), (&[2, 4], 1), (&[4, 5, 7], 2), (&[6], 1)];
    for (ids, added) in batches {
        assert_eq!(restoring.pets(pets(ids)).await.unwrap(), added, "{ids:?}");
    }
    Box::new(restoring).commit().await.unwrap();
    let names = "SELECT string_agg(name, ' ' ORDER BY id) FROM pet";
    let all = "Rex 1 Rex 2 Rex 3 Rex 4 Rex 5 Rex 6 Rex 7 Rex 8 Rex 9 Rex 12";
    assert_eq!(database.sql(names).unwrap().trim(), all);

    let mut restoring = Restoring::new(begin().await.unwrap(), Arc::clone(&store.version));
    let mut others = pets(&[10, 11, 12, 13]);
    others[2].category_id = CategoryId(2);
    let refused = restoring.pets(others).await;
    assert!(matches!(refused, Err(RestoreError::OtherPet(PetId(12)))), "{refused:?}");
}
