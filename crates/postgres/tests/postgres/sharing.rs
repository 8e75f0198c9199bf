//! Several instances on one database.

use std::sync::Arc;

use petstore_domain::{Added, PetRepository};
use petstore_testing::{needs, postgres_or_skip};
use tokio::task::JoinSet;

use crate::support::{add, all, new_pet, open, query, recovers, request};

#[needs(postgres)]
#[tokio::test(flavor = "multi_thread")]
async fn many_keys_in_opposite_orders_all_go_through() {
    let Some(database) = postgres_or_skip("many_keys_in_opposite_orders") else { return };
    let stores = [Arc::new(open(&database.url).await), Arc::new(open(&database.url).await)];
    let mut tasks = JoinSet::new();
    for number in 0..400_usize {
        for (index, store) in stores.iter().enumerate() {
            let store = store.clone();
            let number = if index == 0 { number } else { 399 - number };
            tasks.spawn(async move {
                let pet = new_pet(&format!("Rex {number}"));
                let request = request(&format!("key-{number}"), &pet);
                PetRepository::add(&*store, pet, Some(request)).await.unwrap()
            });
        }
    }
    let answers = tasks.join_all().await;
    let new = answers.iter().filter(|answer| matches!(answer, Added::Created(_))).count();
    assert_eq!((new, all(&stores[0]).await.len()), (400, 400));
}

#[needs(postgres)]
#[tokio::test(flavor = "multi_thread")]
async fn the_version_is_at_once_that_of_what_was_read() {
    let Some(database) = postgres_or_skip("the_version_is_at_once_that_of_what_was_read") else {
        return;
    };
    let (ours, other) = (open(&database.url).await, open(&database.url).await);
    for _ in 0..20 {
        recovers(|| async { ours.version().ok_or("it is not known") }).await;
        add(&other, "Rex").await;
        let read = PetRepository::list(&ours, query(1, None)).await.unwrap();
        // On a slow machine it is not known for a moment.
        assert!(ours.version().is_none_or(|known| Some(known) == read.version));
    }
}
