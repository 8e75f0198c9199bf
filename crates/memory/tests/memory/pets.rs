//! Animals, attempts and marks.

use std::{
    collections::{HashMap, HashSet},
    sync::Arc,
};

use petstore_domain::{AddError, Added, Pet, PetId, PetRepository, PetStatus};
use petstore_memory::MemoryStore;

use crate::support::{A_DAY, NOW, add, at, attempt, new_pet, query, rex};

#[tokio::test]
async fn every_field_comes_back_as_it_was_given_under_growing_identifiers() {
    let store = MemoryStore::new();
    let longest = "🐕".repeat(255);
    let mut next = 1;
    for name in ["a", " Rex ", "e\u{301}", &longest] {
        for category in [i64::MIN, 0, i64::MAX] {
            for status in PetStatus::ALL.map(Some).into_iter().chain([None]) {
                let pet = add(&store, new_pet(name, category, status)).await;
                assert_eq!(pet, new_pet(name, category, status).with_id(PetId(next)));
                assert_eq!(store.find(pet.id).await.unwrap().unwrap().value, pet);
                next += 1;
            }
        }
    }
    for id in [i64::MIN, -1, 0, next, i64::MAX] {
        assert!(store.find(PetId(id)).await.unwrap().is_none());
    }
}

#[tokio::test]
async fn a_page_has_the_limit_the_filter_and_the_order_and_knows_whether_more_follow() {
    let store = MemoryStore::new();
    let mut pets = Vec::new();
    for number in 0..205 {
        let status = [None, Some(PetStatus::Available), Some(PetStatus::Sold), None][number % 4];
        pets.push(add(&store, new_pet("Rex", 1, status)).await);
    }
    for status in PetStatus::ALL.map(Some).into_iter().chain([None]) {
        for limit in [1, 20, 51, 52, 100] {
            for after in [None, Some(i64::MIN), Some(1), Some(204), Some(205), Some(i64::MAX)] {
                let matches = |pet: &&Pet| {
                    (status.is_none() || pet.status == status) && Some(pet.id.0) > after
                };
                let rest: Vec<&Pet> = pets.iter().filter(matches).collect();
                let found = PetRepository::list(&store, query(limit, status, after)).await;
                let page = found.unwrap().value;
                let limit = usize::from(limit);
                assert!(page.pets.iter().eq(rest.iter().copied().take(limit)));
                assert_eq!(page.more, rest.len() > limit, "{status:?} {limit} {after:?}");
            }
        }
    }
}

#[tokio::test]
async fn a_repeat_gets_the_first_animal_and_another_animal_is_refused() {
    let store = MemoryStore::new();
    let other = new_pet("Bello", 1, None);
    let pet = rex().with_id(PetId(1));
    let once = |millis| Some(attempt(1, "once", &rex(), at(millis)));
    let other_once = |millis| Some(attempt(1, "once", &other, at(millis)));

    assert_eq!(store.add(rex(), once(0)).await.unwrap(), Added::Created(pet.clone()));
    assert_eq!(store.add(rex(), once(A_DAY - 1)).await.unwrap(), Added::Replayed(pet));
    let refusal = store.add(other.clone(), other_once(A_DAY - 1)).await;
    assert!(matches!(refusal, Err(AddError::IdempotencyKeyReused)));

    // The record counts for exactly its lifetime, and is then replaced.
    let second = other.clone().with_id(PetId(2));
    let added = store.add(other.clone(), other_once(A_DAY)).await.unwrap();
    assert_eq!(added, Added::Created(second.clone()));
    let added = store.add(other.clone(), other_once(A_DAY)).await.unwrap();
    assert_eq!(added, Added::Replayed(second));
}

#[tokio::test]
async fn another_caller_and_another_key_are_other_attempts() {
    let store = MemoryStore::new();
    for (caller, key) in [(1, "once"), (2, "once"), (1, "twice"), (1, "Once")] {
        let added = store.add(rex(), Some(attempt(caller, key, &rex(), NOW))).await.unwrap();
        assert!(matches!(added, Added::Created(_)), "{caller} {key}");
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn attempts_at_the_same_time_add_one_animal_between_them() {
    let store = Arc::new(MemoryStore::new());
    let tasks = (0..64).map(|_| {
        let store = Arc::clone(&store);
        tokio::spawn(async move {
            store.add(rex(), Some(attempt(1, "once", &rex(), NOW))).await.unwrap()
        })
    });
    let mut now = 0;
    for task in tasks.collect::<Vec<_>>() {
        match task.await.unwrap() {
            Added::Created(_) => now += 1,
            Added::Replayed(pet) => assert_eq!(pet.id, PetId(1)),
        }
    }
    assert_eq!(now, 1);
}

#[tokio::test]
async fn expired_records_are_forgotten_in_batches_and_no_other() {
    let store = MemoryStore::new();
    for number in 0..10 {
        let attempt = attempt(1, &number.to_string(), &rex(), at(number));
        store.add(rex(), Some(attempt)).await.unwrap();
    }
    for forgotten in [3, 3, 1, 0] {
        assert_eq!(store.purge_expired(at(6), 3).await.unwrap(), forgotten);
    }
    assert_eq!(store.purge_expired(at(6), 0).await.unwrap(), 0);
    for number in 0..10 {
        let again = attempt(1, &number.to_string(), &rex(), at(10));
        let added = store.add(rex(), Some(again)).await.unwrap();
        assert_eq!(matches!(added, Added::Replayed(_)), number > 6, "{number}");
    }
}

#[tokio::test]
async fn the_mark_changes_with_every_animal_and_with_nothing_else() {
    let store = MemoryStore::new();
    let mark = || PetRepository::version(&store).unwrap();
    let mut marks = HashSet::from([mark()]);
    for _ in 0..10 {
        let pet = add(&store, rex()).await;
        assert!(marks.insert(mark()));
        assert_eq!(store.find(pet.id).await.unwrap().unwrap().version, Some(mark()));
        let beyond = PetRepository::list(&store, query(1, None, Some(pet.id.0))).await.unwrap();
        assert_eq!(beyond.version, Some(mark()));
    }
    let once = || Some(attempt(1, "once", &rex(), NOW));
    store.add(rex(), once()).await.unwrap();
    let before = mark();
    store.add(rex(), once()).await.unwrap();
    store.purge_expired(NOW, 1).await.unwrap();
    assert_eq!(mark(), before);
    let another = PetRepository::version(&MemoryStore::new()).unwrap();
    assert!(marks.insert(another), "a mark of this store is none of another");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn a_walk_and_its_marks_are_consistent_while_animals_are_added() {
    let store = Arc::new(MemoryStore::new());
    for _ in 0..50 {
        add(&store, rex()).await;
    }
    let adder = Arc::clone(&store);
    let adding = tokio::spawn(async move {
        for _ in 0..500 {
            add(&adder, rex()).await;
        }
    });
    let (mut walked, mut seen) = (Vec::new(), HashMap::new());
    loop {
        let page = PetRepository::list(&*store, query(7, None, walked.last().copied())).await;
        walked.extend(page.unwrap().value.pets.iter().map(|pet| pet.id.0));
        let whole = PetRepository::list(&*store, query(1, None, Some(49))).await.unwrap();
        let state = seen.entry(whole.version).or_insert_with(|| whole.value.clone());
        assert_eq!(*state, whole.value);
        if walked.len() >= 50 {
            break;
        }
    }
    assert_eq!(walked, (1..).take(walked.len()).collect::<Vec<_>>());
    adding.await.unwrap();
}
