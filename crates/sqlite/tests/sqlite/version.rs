//! The catalogue's mark.

use std::{
    collections::{HashMap, HashSet},
    sync::Arc,
    time::{Duration, Instant},
};

use petstore_domain::{CatalogueVersion, PetId, PetRepository};
use petstore_sqlite::SqliteStore;

use crate::support::{NOW, Place, add, attempt, query, rex};

/// How soon another process's write must show.
const PROMISE: Duration = Duration::from_millis(100);

fn mark(store: &SqliteStore) -> CatalogueVersion {
    PetRepository::version(store).unwrap()
}

#[tokio::test]
async fn reads_carry_the_mark_of_the_state_they_saw() {
    let place = Place::new();
    let store = place.open();
    let mut marks = HashSet::from([mark(&store)]);
    let empty = store.list(query(20, None, None)).await.unwrap();
    assert_eq!(empty.version, Some(mark(&store)));
    for _ in 0..20 {
        let pet = add(&store, rex()).await;
        assert!(marks.insert(mark(&store)), "an acknowledged addition has changed the mark");
        let found = store.find(pet.id).await.unwrap().unwrap();
        assert_eq!(found.version, Some(mark(&store)));
        let beyond = store.list(query(20, None, Some(pet.id.0))).await.unwrap();
        assert_eq!((beyond.value.pets.len(), beyond.version), (0, Some(mark(&store))));
    }
}

#[tokio::test]
async fn what_adds_nothing_leaves_the_mark() {
    let place = Place::new();
    let store = place.open();
    let once = || Some(attempt(1, "once", &rex(), NOW));
    store.add(rex(), once()).await.unwrap();
    let before = mark(&store);
    store.add(rex(), once()).await.unwrap();
    store.purge_expired(NOW, 10).await.unwrap();
    assert_eq!(mark(&store), before);
}

#[tokio::test]
async fn an_addition_by_another_process_shows_within_the_promise() {
    let place = Place::new();
    let (store, other) = (place.open(), place.open());
    for _ in 0..5 {
        let before = mark(&store);
        let pet = add(&other, rex()).await;
        let acknowledged = Instant::now();
        loop {
            let waited = acknowledged.elapsed();
            if mark(&store) != before {
                break;
            }
            assert!(waited < PROMISE);
            tokio::time::sleep(Duration::from_millis(1)).await;
        }
        assert_eq!(mark(&store), mark(&other));
        assert_eq!(store.find(pet.id).await.unwrap().unwrap().version, Some(mark(&store)));
    }
}

#[tokio::test]
async fn a_write_of_ones_own_does_not_hide_another_process_s() {
    let place = Place::new();
    let (store, other) = (place.open(), place.open());
    for _ in 0..50 {
        add(&other, rex()).await;
        add(&store, rex()).await;
        assert_eq!(mark(&store), store.find(PetId(1)).await.unwrap().unwrap().version.unwrap());
    }
}

#[tokio::test]
async fn a_change_by_hand_changes_the_mark() {
    let place = Place::new();
    let store = place.open();
    add(&store, rex()).await;
    for sql in [
        "UPDATE pet SET status = 'sold' WHERE id = 1",
        "INSERT INTO pet (name, category_id) VALUES ('Bello', 2)",
        "DELETE FROM pet WHERE id = 2",
    ] {
        let before = mark(&store);
        place.raw().execute(sql, []).unwrap();
        tokio::time::sleep(PROMISE).await;
        assert_ne!(mark(&store), before, "{sql}");
    }
}

#[tokio::test]
async fn marks_do_not_come_back_after_reopening() {
    let place = Place::new();
    let mut marks = HashSet::new();
    for _ in 0..5 {
        let store = place.open();
        marks.insert(mark(&store)); // The state of the last round: its mark may be the same.
        add(&store, rex()).await;
        assert!(marks.insert(mark(&store)));
    }
    assert!(marks.len() <= 6);
    // The first state again, but of another store.
    assert!(marks.insert(mark(&Place::new().open())));
}

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn reads_under_one_mark_saw_the_same_state() {
    let place = Place::new();
    let stores = [Arc::new(place.open()), Arc::new(place.open())];
    let adding = stores.clone().map(|store| {
        tokio::spawn(async move {
            for _ in 0..100 {
                add(&store, rex()).await;
            }
        })
    });
    let reading = [0, 1, 0, 1].map(|index: usize| {
        let store = Arc::clone(&stores[index]);
        tokio::spawn(async move {
            let mut seen = HashMap::new();
            for _ in 0..500 {
                let page = store.list(query(100, None, Some(0))).await.unwrap();
                seen.insert(page.version.unwrap(), page.value);
                tokio::task::yield_now().await;
            }
            seen
        })
    });
    for task in adding {
        task.await.unwrap();
    }
    let mut known = HashMap::new();
    for task in reading {
        for (mark, state) in task.await.unwrap() {
            assert_eq!(*known.entry(mark).or_insert_with(|| state.clone()), state);
        }
    }
}
