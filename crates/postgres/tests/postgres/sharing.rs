//! Several instances on one database.

use std::{
    collections::HashSet,
    sync::Arc,
    time::{Duration, Instant},
};

use petstore_domain::{Added, ApiKeyRepository, KeySelector, PetRepository};
use petstore_testing::postgres_or_skip;
use tokio::task::JoinSet;

use crate::support::{NOW, add, all, attempt, new_key, new_pet, open};

#[tokio::test(flavor = "multi_thread")]
async fn two_stores_racing_with_one_key_add_one_animal() {
    let Some(database) = postgres_or_skip("two_stores_racing_with_one_key") else { return };
    let stores = [Arc::new(open(&database.url).await), Arc::new(open(&database.url).await)];
    for round in 0..10 {
        let mut tasks = JoinSet::new();
        for task in 0..64 {
            let store = stores[task % 2].clone();
            tasks.spawn(async move {
                let pet = new_pet("Rex");
                let attempt = attempt(&format!("round-{round}"), &pet);
                PetRepository::add(&*store, pet, Some(attempt)).await.unwrap()
            });
        }
        let answers = tasks.join_all().await;
        let new = answers.iter().filter(|answer| matches!(answer, Added::Created(_))).count();
        let ids: HashSet<i64> =
            answers.iter().map(|(Added::Created(pet) | Added::Replayed(pet))| pet.id.0).collect();
        assert_eq!((new, ids.len()), (1, 1));
    }
    assert_eq!(all(&stores[0]).await.len(), 10);
}

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
                let attempt = attempt(&format!("key-{number}"), &pet);
                PetRepository::add(&*store, pet, Some(attempt)).await.unwrap()
            });
        }
    }
    let answers = tasks.join_all().await;
    let new = answers.iter().filter(|answer| matches!(answer, Added::Created(_))).count();
    assert_eq!((new, all(&stores[0]).await.len()), (400, 400));
}

#[tokio::test]
async fn a_key_revoked_by_one_is_not_live_for_the_other() {
    let Some(database) = postgres_or_skip("a_key_revoked_by_one") else { return };
    let (one, other) = (open(&database.url).await, open(&database.url).await);
    let key = ApiKeyRepository::add(&one, new_key(1, "web"), 10).await.unwrap();
    assert_eq!(other.live(NOW).await.unwrap(), std::slice::from_ref(&key));
    let revoked = one.revoke(KeySelector::Id(key.id), NOW).await.unwrap();
    assert_eq!(revoked.len(), 1);
    assert_eq!(other.live(NOW).await.unwrap(), []);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_write_by_one_shows_in_the_mark_of_the_other() {
    let Some(database) = postgres_or_skip("a_write_by_one_shows_in_the_mark") else { return };
    let (one, other) = (open(&database.url).await, open(&database.url).await);
    for _ in 0..20 {
        let before = other.version();
        add(&one, "Rex").await;
        let began = Instant::now();
        loop {
            let waited = began.elapsed();
            // No answer is no wrong answer.
            if other.version().is_none_or(|mark| Some(mark) != before) {
                break;
            }
            assert!(waited < Duration::from_millis(500), "the old mark is shown after {waited:?}");
            tokio::time::sleep(Duration::from_millis(1)).await;
        }
        tokio::time::sleep(Duration::from_millis(15)).await;
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_mark_that_is_shown_is_that_of_every_read_beside_it() {
    let Some(database) = postgres_or_skip("a_mark_that_is_shown") else { return };
    let store = Arc::new(open(&database.url).await);
    for _ in 0..50 {
        add(&store, "Rex").await;
        let shown = store.version();
        let read =
            PetRepository::list(&*store, crate::support::query(1, None)).await.unwrap().version;
        assert!(shown.is_none() || shown == read);
    }
}
