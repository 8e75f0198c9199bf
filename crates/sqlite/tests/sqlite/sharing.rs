//! Several stores on one file.

use std::{
    fs,
    os::unix::fs::MetadataExt,
    sync::{Arc, Barrier},
    thread,
};

use petstore_domain::{ApiKeyRepository, PetRepository};

use crate::support::{NOW, Place, add, all, ids, new_key, page, query, rex};

#[tokio::test]
async fn stores_on_one_file_see_each_other_at_once() {
    let place = Place::new();
    let (one, two) = (place.open(), place.open());
    for _ in 0..10 {
        let pet = add(&one, rex()).await;
        assert_eq!(two.find(pet.id).await.unwrap().unwrap().value, pet);
        add(&two, rex()).await;
    }
    assert_eq!(all(&one).await, all(&two).await);
    let key = ApiKeyRepository::add(&one, new_key(1, "web", None), 10).await.unwrap();
    assert_eq!(ids(&two.live(NOW).await.unwrap()), [key.id.0]);
}

#[test]
fn a_fresh_path_can_be_opened_by_many_at_once() {
    for _ in 0..20 {
        let place = Place::new();
        let together = Arc::new(Barrier::new(4));
        let openers = [(); 4].map(|()| {
            let (path, together) = (place.path(), Arc::clone(&together));
            thread::spawn(move || {
                together.wait();
                crate::support::open(&path)
            })
        });
        let stores = openers.map(|opener| opener.join().unwrap().unwrap());
        let marks = stores.each_ref().map(PetRepository::version);
        assert!(marks[0].is_some());
        assert!(marks.iter().all(|mark| *mark == marks[0]), "{marks:?}");
    }
}

#[tokio::test]
async fn reads_do_not_wait_for_somebody_else_s_write() {
    let place = Place::new();
    let store = place.open();
    let pet = add(&store, rex()).await;
    let raw = place.raw();
    raw.execute_batch("BEGIN EXCLUSIVE; UPDATE pet SET name = 'Bello'").unwrap();
    assert_eq!(store.find(pet.id).await.unwrap().unwrap().value, pet);
    assert_eq!(page(&store, query(20, None, None)).await.pets, [pet]);
}

/// Without care, closing one store drops the locks of all others on the same file (POSIX), and
/// another process could then take the write-ahead log away from under them.
#[cfg(target_os = "linux")]
#[test]
fn closing_one_store_leaves_the_locks_of_another() {
    let place = Place::new();
    let staying = place.open();
    let inode = fs::metadata(place.path()).unwrap().ino();
    let locks = || {
        let table = fs::read_to_string("/proc/locks").unwrap();
        table.lines().filter(|line| line.contains(&format!(":{inode} "))).count()
    };
    let held = locks();
    assert!(held > 0, "an open store holds a lock on its file");
    drop(place.open());
    assert_eq!(locks(), held);
    drop(staying);
    assert_eq!(locks(), 0);
}
