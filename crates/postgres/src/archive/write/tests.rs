//! What becomes of batches of animals in whatever order.

use petstore_domain::{Archive as _, Batch, CategoryId, NewPet, Pet, PetId, PetName, RestoreError};
use petstore_testing::{needs, postgres_or_skip};

use crate::{config::PostgresConfig, store::PostgresStore};

fn batch(ids: &[i64]) -> Batch {
    let pet = |id: &i64| {
        let name = PetName::parse(format!("Rex {id}")).unwrap();
        NewPet { name, category_id: CategoryId(1), status: None }.with_id(PetId(*id))
    };
    Batch { pets: ids.iter().map(pet).collect::<Vec<Pet>>(), ..Batch::default() }
}

#[needs(postgres)]
#[tokio::test]
async fn only_animals_that_are_not_there_are_written_whatever_their_order() {
    let Some(database) = postgres_or_skip("only_animals_that_are_not_there") else { return };
    let store = PostgresStore::connect(&PostgresConfig::parse(&database.url).unwrap()).await;
    let store = store.unwrap();
    let batches: [(&[i64], u64); 6] =
        [(&[1, 2, 3], 3), (&[9, 8], 2), (&[12, 12], 1), (&[2, 4], 1), (&[4, 5, 7], 2), (&[6], 1)];
    for (ids, added) in batches {
        assert_eq!(store.write(batch(ids)).await.unwrap().added, added, "{ids:?}");
    }
    let names = "SELECT string_agg(name, ' ' ORDER BY id) FROM pet";
    let all = "Rex 1 Rex 2 Rex 3 Rex 4 Rex 5 Rex 6 Rex 7 Rex 8 Rex 9 Rex 12";
    assert_eq!(database.sql(names).unwrap().trim(), all);

    let mut others = batch(&[10, 11, 12, 13]);
    others.pets[2].category_id = CategoryId(2);
    let refused = store.write(others).await;
    assert!(matches!(refused, Err(RestoreError::OtherPet(PetId(12)))), "{refused:?}");
    assert_eq!(database.sql(names).unwrap().trim(), all);
}
