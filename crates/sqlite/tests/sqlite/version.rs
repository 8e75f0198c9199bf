//! The catalogue's version.

use std::{
    collections::{HashMap, HashSet},
    sync::{Arc, Mutex},
    time::Duration,
};

use petstore_domain::{CatalogueVersion, PetId, PetRepository};
use petstore_sqlite::SqliteStore;

use crate::support::{NOW, Place, add, once, query, rex, version};

/// The longest time until a write of another process shows in the version.
const LIMIT: Duration = Duration::from_millis(100);

#[tokio::test]
async fn a_write_without_a_new_animal_keeps_the_version() {
    let place = Place::new();
    let store = place.open();
    store.add(rex(), Some(once())).await.unwrap();
    let before = version(&store);
    store.add(rex(), Some(once())).await.unwrap();
    store.purge_expired(NOW, 10).await.unwrap();
    assert_eq!(version(&store), before);
}

#[tokio::test]
async fn a_change_by_sql_changes_the_version() {
    let place = Place::new();
    let store = place.open();
    add(&store, rex()).await;
    for sql in [
        "UPDATE pet SET status = 'sold' WHERE id = 1",
        "INSERT INTO pet (name, category_id) VALUES ('Bello', 2)",
        "DELETE FROM pet WHERE id = 2",
    ] {
        let before = version(&store);
        place.raw().execute(sql, []).unwrap();
        tokio::time::sleep(LIMIT).await;
        assert_ne!(version(&store), before, "{sql}");
    }
}

#[test]
fn new_stores_have_different_versions() {
    let versions = [(); 5].map(|()| version(&Place::new().open()));
    assert_eq!(HashSet::from(versions).len(), 5);
}

/// The animals that the clients of a store know.
#[derive(Default)]
struct Known {
    acknowledged: Vec<PetId>,
    /// The animals that were seen with each version.
    seen: HashMap<CatalogueVersion, Vec<PetId>>,
}

/// Lists animals as a page cache does, which returns a known page of the current version.
async fn list(store: &SqliteStore, known: &Mutex<Known>) {
    let acknowledged = known.lock().unwrap().acknowledged.clone();
    let version = PetRepository::version(store);
    let cached = version.and_then(|version| known.lock().unwrap().seen.get(&version).cloned());
    let pets = if let Some(pets) = cached {
        pets
    } else {
        let page = PetRepository::list(store, query(100, None)).await.unwrap();
        let pets: Vec<_> = page.value.pets.iter().map(|pet| pet.id).collect();
        let seen = known.lock().unwrap().seen.insert(page.version.unwrap(), pets.clone());
        assert!(seen.is_none_or(|seen| seen == pets), "two states have the same version");
        pets
    };
    for id in acknowledged {
        assert!(pets.contains(&id), "{id} was acknowledged before, but is missing in {pets:?}");
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn every_later_page_has_all_acknowledged_animals() {
    for _ in 0..20 {
        let place = Place::new();
        let (store, known) = (Arc::new(place.open()), Arc::<Mutex<Known>>::default());
        let clients = (0..4).map(|client| {
            let (store, known) = (Arc::clone(&store), Arc::clone(&known));
            tokio::spawn(async move {
                for _ in 0..25 {
                    if client < 2 {
                        let before = PetRepository::version(&*store);
                        let pet = add(&store, rex()).await;
                        known.lock().unwrap().acknowledged.push(pet.id);
                        let after = PetRepository::version(&*store);
                        assert!(before.is_none() || before != after, "the version is as it was");
                    }
                    list(&store, &known).await;
                }
            })
        });
        for client in clients.collect::<Vec<_>>() {
            client.await.unwrap();
        }
        assert_eq!(known.lock().unwrap().acknowledged.len(), 50);
    }
}
