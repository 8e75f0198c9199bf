//! The store under schedules: its writer, its watch, its version cache and its read lock, on a real file.
//! Reads run on the threads that ask, as there is no runtime.

use std::{
    collections::HashMap,
    sync::{Arc, Mutex},
    time::Duration,
};

use petstore_domain::{
    Added, CatalogueVersion, CategoryId, NewPet, PageLimit, PetId, PetName, PetQuery,
    PetRepository as _, Versioned,
};
use rusqlite::Connection;
use shuttle::{future::block_on, thread};
use tempfile::TempDir;

use crate::{
    config::{BusyTimeout, SqliteConfig, Synchronous},
    open::open,
    read_lock::ReadLock,
    schema,
    store::SqliteStore,
    sync::schedules::explore,
};

/// What the clients of a store know. Locked for a moment, with no turn of another thread in it.
#[derive(Default)]
struct Known {
    acknowledged: Vec<PetId>,
    /// The animals that were seen with each version.
    seen: HashMap<CatalogueVersion, Vec<PetId>>,
}

fn store(place: &TempDir) -> SqliteStore {
    let path = place.path().join("petstore.db");
    // No thread of a schedule may wait for another one in SQLite: that would be a deadlock.
    let timeout = BusyTimeout { writer: Duration::ZERO, reader: Duration::ZERO };
    open(&SqliteConfig { path, synchronous: Synchronous::Normal }, timeout).unwrap()
}

fn add(store: &SqliteStore, known: &Mutex<Known>) {
    let pet =
        NewPet { name: PetName::parse("Rex").unwrap(), category_id: CategoryId(1), status: None };
    let before = store.version();
    let Added::Created(pet) = block_on(store.add(pet, None)).unwrap() else {
        panic!("it was there before");
    };
    known.lock().unwrap().acknowledged.push(pet.id);
    let after = store.version();
    assert!(before.is_none() || before != after, "a write left the version as it was");
}

/// Asks as a cache of pages does, which takes a page of the present version from what it has seen.
fn list(store: &SqliteStore, known: &Mutex<Known>) {
    let acknowledged = known.lock().unwrap().acknowledged.clone();
    let version = store.version();
    let cached = version.and_then(|version| known.lock().unwrap().seen.get(&version).cloned());
    let pets = cached.unwrap_or_else(|| {
        let query = PetQuery { limit: PageLimit::MAX, ..PetQuery::default() };
        let Versioned { value, version } = block_on(store.list(query)).unwrap();
        let pets: Vec<_> = value.pets.iter().map(|pet| pet.id).collect();
        if let Some(version) = version {
            let seen = known.lock().unwrap().seen.insert(version, pets.clone());
            assert!(seen.is_none_or(|seen| seen == pets), "two catalogues have the same version");
        }
        pets
    });
    for id in acknowledged {
        assert!(pets.contains(&id), "{id} was acknowledged before, and is not in {pets:?}");
    }
}

#[test]
fn what_is_acknowledged_is_in_what_is_asked_for_afterwards() {
    explore(100, || {
        let place = TempDir::new().unwrap();
        let store = Arc::new(store(&place));
        let known = Arc::<Mutex<Known>>::default();
        let clients = [add, add, list, list].map(|request| {
            let (store, known) = (Arc::clone(&store), Arc::clone(&known));
            thread::spawn(move || (0..2).for_each(|_| request(&store, &known)))
        });
        for client in clients {
            client.join().unwrap();
        }
        list(&store, &known);
        assert_eq!(known.lock().unwrap().acknowledged.len(), 4);
    });
}

#[test]
fn a_store_that_is_dropped_has_finished_what_was_queued() {
    explore(100, || {
        let place = TempDir::new().unwrap();
        let known = Arc::<Mutex<Known>>::default();
        let first = Arc::new(store(&place));
        let clients = [(); 3].map(|()| {
            let (store, known) = (Arc::clone(&first), Arc::clone(&known));
            thread::spawn(move || add(&store, &known))
        });
        // The last client closes it.
        drop(first);
        for client in clients {
            client.join().unwrap();
        }
        list(&store(&place), &known);
    });
}

#[test]
fn while_the_writer_is_at_work_nobody_holds_the_read_lock() {
    let renew = |lock: &ReadLock| {
        lock.renew();
    };
    for take in [renew, ReadLock::resume] {
        explore(1000, move || {
            let lock = Arc::new(ReadLock::new(|| {
                let mut connection = Connection::open_in_memory()?;
                assert!(schema::create_or_check(&mut connection).unwrap());
                Ok(connection)
            }));
            let watch = {
                let lock = Arc::clone(&lock);
                thread::spawn(move || take(&lock))
            };
            lock.pause();
            watch.join().unwrap();
            assert!(!lock.is_held());
            lock.allow();
            lock.resume();
            assert!(lock.is_held());
        });
    }
}
