//! Adding an animal at most once.

use std::{collections::HashSet, sync::Arc};

use petstore_domain::{AddError, Added, PetId, PetRepository, Timestamp};

use crate::support::{A_DAY, NOW, Place, all, attempt, new_pet, rex};

#[tokio::test]
async fn a_repeat_gets_the_first_animal_and_adds_nothing() {
    let place = Place::new();
    let store = place.open();
    let first = store.add(rex(), Some(attempt(1, "once", &rex(), NOW))).await.unwrap();
    assert_eq!(first, Added::Created(rex().with_id(PetId(1))));
    drop(store);
    let store = place.open();
    let repeat = store.add(rex(), Some(attempt(1, "once", &rex(), NOW))).await.unwrap();
    assert_eq!(repeat, Added::Replayed(rex().with_id(PetId(1))));
    assert_eq!(all(&store).await.len(), 1);
}

#[tokio::test]
async fn another_animal_under_the_same_key_is_refused_and_adds_nothing() {
    let place = Place::new();
    let store = place.open();
    store.add(rex(), Some(attempt(1, "once", &rex(), NOW))).await.unwrap();
    let other = new_pet("Bello", 1, None);
    let refusal = store.add(other.clone(), Some(attempt(1, "once", &other, NOW))).await;
    assert!(matches!(refusal, Err(AddError::IdempotencyKeyReused)));
    assert_eq!(all(&store).await.len(), 1);
}

#[tokio::test]
async fn another_caller_and_another_key_are_other_attempts() {
    let place = Place::new();
    let store = place.open();
    for (caller, key) in [(1, "once"), (2, "once"), (1, "twice"), (1, "Once")] {
        let added = store.add(rex(), Some(attempt(caller, key, &rex(), NOW))).await.unwrap();
        assert!(matches!(added, Added::Created(_)), "{caller} {key}");
    }
    assert_eq!(all(&store).await.len(), 4);
}

#[tokio::test]
async fn a_record_counts_for_exactly_its_lifetime_and_is_then_replaced() {
    let place = Place::new();
    let store = place.open();
    let other = new_pet("Bello", 1, None);
    let at = |millis: i64| Timestamp(NOW.0 + millis);
    store.add(rex(), Some(attempt(1, "once", &rex(), NOW))).await.unwrap();

    let last_moment = attempt(1, "once", &rex(), at(A_DAY - 1));
    assert!(matches!(store.add(rex(), Some(last_moment)).await, Ok(Added::Replayed(_))));
    let too_early = attempt(1, "once", &other, at(A_DAY - 1));
    let refusal = store.add(other.clone(), Some(too_early)).await;
    assert!(matches!(refusal, Err(AddError::IdempotencyKeyReused)));

    let afterwards = attempt(1, "once", &other, at(A_DAY));
    let added = store.add(other.clone(), Some(afterwards.clone())).await.unwrap();
    assert_eq!(added, Added::Created(other.clone().with_id(PetId(2))));
    let added = store.add(other.clone(), Some(afterwards)).await.unwrap();
    assert_eq!(added, Added::Replayed(other.with_id(PetId(2))));
}

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn attempts_at_the_same_time_add_one_animal_between_them() {
    let place = Place::new();
    let stores = [Arc::new(place.open()), Arc::new(place.open())];
    for round in 0..5 {
        let key = format!("round-{round}");
        let tasks = (0..64).map(|number| {
            let (store, key) = (Arc::clone(&stores[number % 2]), key.clone());
            tokio::spawn(async move {
                store.add(rex(), Some(attempt(1, &key, &rex(), NOW))).await.unwrap()
            })
        });
        let (mut ids, mut now) = (HashSet::new(), 0);
        for task in tasks.collect::<Vec<_>>() {
            match task.await.unwrap() {
                Added::Created(pet) => {
                    now += 1;
                    ids.insert(pet.id);
                }
                Added::Replayed(pet) => {
                    ids.insert(pet.id);
                }
            }
        }
        assert_eq!((ids.len(), now), (1, 1));
    }
    assert_eq!(all(&stores[0]).await.len(), 5);
}

#[tokio::test]
async fn expired_records_are_forgotten_in_batches_and_no_other() {
    let place = Place::new();
    let store = place.open();
    for number in 0..10 {
        let at = Timestamp(NOW.0 + number);
        store.add(rex(), Some(attempt(1, &number.to_string(), &rex(), at))).await.unwrap();
    }
    let expired = Timestamp(NOW.0 + 6);
    for forgotten in [3, 3, 1, 0] {
        assert_eq!(store.purge_expired(expired, 3).await.unwrap(), forgotten);
    }
    assert_eq!(store.purge_expired(expired, 0).await.unwrap(), 0);
    for number in 0..10 {
        let again = attempt(1, &number.to_string(), &rex(), Timestamp(NOW.0 + 10));
        let added = store.add(rex(), Some(again)).await.unwrap();
        assert_eq!(matches!(added, Added::Replayed(_)), number > 6, "{number}");
    }
}
