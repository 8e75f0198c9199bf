//! Adding, finding and listing animals.

use std::{pin::pin, sync::Arc, task::Context, task::Waker};

use petstore_domain::{Pet, PetId, PetRepository, PetStatus};
use proptest::prelude::*;

use crate::support::{Place, add, all, new_pet, page, query, rex};

#[tokio::test]
async fn every_field_comes_back_as_it_was_given_and_outlasts_the_process() {
    let place = Place::new();
    let longest = "🐕".repeat(255);
    let mut kept = Vec::new();
    let store = place.open();
    for name in ["a", " Rex ", "e\u{301}", "\u{feff}'; DROP TABLE pet; --", &longest] {
        for category in [i64::MIN, -1, 0, i64::MAX] {
            for status in PetStatus::ALL.map(Some).into_iter().chain([None]) {
                kept.push(add(&store, new_pet(name, category, status)).await);
            }
        }
    }
    assert_eq!(all(&store).await, kept);
    drop(store);

    let store = place.open();
    assert_eq!(all(&store).await, kept);
    for pet in kept {
        assert_eq!(store.find(pet.id).await.unwrap().unwrap().value, pet);
    }
}

#[tokio::test]
async fn an_animal_that_is_not_there_is_none() {
    let place = Place::new();
    let store = place.open();
    add(&store, rex()).await;
    for id in [0, 2, -1, i64::MIN, i64::MAX] {
        assert!(store.find(PetId(id)).await.unwrap().is_none(), "{id}");
    }
}

#[tokio::test]
async fn identifiers_grow_and_none_is_assigned_twice() {
    let place = Place::new();
    let store = place.open();
    for id in 1..=3 {
        assert_eq!(add(&store, rex()).await.id, PetId(id));
    }
    drop(store);
    place.raw().execute("DELETE FROM pet WHERE id >= 2", []).unwrap();
    let store = place.open();
    assert_eq!(add(&store, rex()).await.id, PetId(4));
    for (by_hand, next) in [
        ("UPDATE pet SET id = 2 WHERE id = 4", 5),
        ("DELETE FROM pet", 6),
        ("INSERT INTO pet VALUES (10, 'Rex', 1, NULL)", 11),
        ("INSERT INTO pet VALUES (-10, 'Rex', 1, NULL)", 12),
    ] {
        place.raw().execute(by_hand, []).unwrap();
        assert_eq!(add(&store, rex()).await.id, PetId(next), "{by_hand}");
    }
}

#[tokio::test]
async fn the_last_identifier_leaves_none() {
    let place = Place::new();
    let store = place.open();
    let before_last = "INSERT INTO pet VALUES (9223372036854775806, 'Rex', 1, NULL)";
    place.raw().execute(before_last, []).unwrap();
    assert_eq!(add(&store, rex()).await.id, PetId(i64::MAX));
    for _ in 0..2 {
        assert_eq!(
            store.add(rex(), None).await.unwrap_err().to_string(),
            "the store cannot answer: no identifier is left: the highest, 9223372036854775807, \
             is taken"
        );
        place.raw().execute("DELETE FROM pet", []).unwrap();
    }
}

#[tokio::test]
async fn a_page_has_the_limit_the_filter_and_the_order_and_knows_whether_more_follow() {
    let place = Place::new();
    let store = place.open();
    assert_eq!(page(&store, query(20, None, None)).await.pets, []);
    let mut pets = Vec::new();
    for number in 0..205 {
        let status = [None, Some(PetStatus::Available), Some(PetStatus::Sold), None][number % 4];
        pets.push(add(&store, new_pet("Rex", 1, status)).await);
    }
    let filters = PetStatus::ALL.map(Some).into_iter().chain([None]);
    for status in filters {
        let matching: Vec<&Pet> =
            pets.iter().filter(|pet| status.is_none() || pet.status == status).collect();
        for limit in [1, 19, 20, 51, 52, 99, 100] {
            for after in [None, Some(-5), Some(0), Some(1), Some(100), Some(204), Some(205)] {
                let rest: Vec<&Pet> =
                    matching.iter().copied().filter(|pet| Some(pet.id.0) > after).collect();
                let page = page(&store, query(limit, status, after)).await;
                let limit = usize::from(limit);
                assert!(page.pets.iter().eq(rest.iter().copied().take(limit)));
                assert_eq!(page.more, rest.len() > limit, "{status:?} {limit} {after:?}");
            }
        }
    }
    assert_eq!(page(&store, query(1, None, Some(i64::MAX))).await.pets, []);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn a_walk_yields_each_animal_once_whatever_is_added_meanwhile() {
    let place = Place::new();
    let store = Arc::new(place.open());
    for _ in 0..100 {
        add(&store, new_pet("Rex", 1, Some(PetStatus::Sold))).await;
    }
    let adder = Arc::clone(&store);
    let adding = tokio::spawn(async move {
        for _ in 0..200 {
            add(&adder, new_pet("Bello", 1, Some(PetStatus::Sold))).await;
        }
    });
    for status in [None, Some(PetStatus::Sold)] {
        let mut walked: Vec<i64> = Vec::new();
        loop {
            let page = page(&store, query(7, status, walked.last().copied())).await;
            walked.extend(page.pets.iter().map(|pet| pet.id.0));
            tokio::task::yield_now().await;
            if !page.more {
                break;
            }
        }
        assert!(walked.len() >= 100);
        assert_eq!(walked, (1..).take(walked.len()).collect::<Vec<_>>());
    }
    adding.await.unwrap();
}

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn every_read_after_an_acknowledgement_sees_the_animal() {
    let place = Place::new();
    let store = Arc::new(place.open());
    let tasks = (0..8).map(|_| {
        let store = Arc::clone(&store);
        tokio::spawn(async move {
            let mut last = PetId(0);
            for _ in 0..25 {
                let pet = add(&store, rex()).await;
                assert!(pet.id > last, "identifiers grow as one caller sees them");
                last = pet.id;
                assert_eq!(store.find(pet.id).await.unwrap().unwrap().value, pet);
                let page = page(&store, query(1, None, Some(pet.id.0 - 1))).await;
                assert_eq!(page.pets, [pet]);
            }
        })
    });
    for task in tasks.collect::<Vec<_>>() {
        task.await.unwrap();
    }
    assert_eq!(all(&store).await.len(), 200);
}

#[tokio::test]
async fn an_addition_whose_caller_is_gone_happens_whole() {
    let place = Place::new();
    let store = place.open();
    drop(store.add(rex(), None)); // Never polled: nothing has begun.
    for _ in 0..10 {
        let mut future = pin!(store.add(rex(), None));
        let _ = future.as_mut().poll(&mut Context::from_waker(Waker::noop()));
    }
    // The writer works in order: what is acknowledged now came behind them all.
    assert_eq!(add(&store, rex()).await.id, PetId(11));
    assert_eq!(all(&store).await.len(), 11);
}

#[tokio::test]
async fn closing_finishes_everything_that_waits_and_leaves_one_file() {
    let place = Place::new();
    let store = place.open();
    for _ in 0..100 {
        let mut future = pin!(store.add(rex(), None));
        let _ = future.as_mut().poll(&mut Context::from_waker(Waker::noop()));
    }
    drop(store);
    assert_eq!(place.content().into_keys().collect::<Vec<_>>(), [place.path()]);
    assert_eq!(all(&place.open()).await.len(), 100);
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(32))]

    #[test]
    fn any_name_comes_back_byte_for_byte(
        names in proptest::collection::vec("\\S\\PC{0,40}", 1..8), category: i64,
    ) {
        let runtime = tokio::runtime::Builder::new_current_thread().build().unwrap();
        runtime.block_on(async {
            let place = Place::new();
            let store = place.open();
            let names = names.iter().filter(|name| !name.chars().any(char::is_control));
            for name in names {
                let pet = add(&store, new_pet(name, category, None)).await;
                assert_eq!(pet.name.as_str(), name);
                assert_eq!(store.find(pet.id).await.unwrap().unwrap().value, pet);
            }
        });
    }
}
