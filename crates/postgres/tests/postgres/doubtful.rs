//! A commit whose answer is lost.

use petstore_domain::{AddError, Added, PetRepository, StoreError};
use petstore_testing::{Database, needs};

use crate::{
    lost_answer::LostAnswer,
    support::{add, all, new_pet, open, request},
};

#[needs(postgres)]
#[tokio::test(flavor = "multi_thread")]
async fn a_commit_with_a_lost_answer_adds_one_animal() {
    let database = Database::create().unwrap();
    let way = LostAnswer::new(&database.url).unwrap();
    let store = open(&way.url(&database.url)).await;
    add(&store, "Rex").await;

    way.lose(1);
    let without_key = PetRepository::add(&store, new_pet("Bello"), None).await;
    assert!(
        matches!(without_key, Err(AddError::Store(StoreError::Unavailable(_)))),
        "{without_key:?}"
    );
    assert_eq!(way.left(), 0);

    way.lose(2);
    let once = request("once", &new_pet("Hasso"));
    let with_key = PetRepository::add(&store, new_pet("Hasso"), Some(once)).await.unwrap();
    assert!(matches!(with_key, Added::Replayed(_)), "{with_key:?}");
    assert_eq!(way.left(), 0);

    add(&store, "Last").await;
    let names: Vec<String> =
        all(&store).await.iter().map(|pet| pet.name.as_str().to_owned()).collect();
    assert_eq!(names, ["Rex", "Bello", "Hasso", "Last"]);
}
