//! Several stores on one file.

use std::{
    fs,
    os::unix::fs::MetadataExt,
    process::{Command, Stdio},
};

use petstore_domain::{ApiKeyRepository, PetRepository};

use crate::support::{NOW, Place, add, all, ids, new_key, open, page, query, rex};

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
        let stores = place.open_by_four_at_once();
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

/// Where a child process of the test below finds its store.
const CHILD_PATH: &str = "PETSTORE_TEST_CHILD_PATH";
const PER_CHILD: usize = 25;

#[tokio::test]
async fn processes_that_open_a_fresh_path_at_once_share_it() {
    let place = Place::new();
    let children = [(); 4].map(|()| {
        Command::new(std::env::current_exe().unwrap())
            .args(["--exact", "sharing::in_a_child_process"])
            .env(CHILD_PATH, place.path())
            .stdout(Stdio::piped())
            .spawn()
            .unwrap()
    });
    for child in children {
        let output = child.wait_with_output().unwrap();
        assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stdout));
    }
    let pets = all(&place.open()).await;
    assert_eq!(pets.len(), 4 * PER_CHILD);
    assert!(pets.iter().map(|pet| pet.id.0).eq(1..=100));
}

/// Does nothing unless it runs in a child process of the test above.
#[tokio::test]
async fn in_a_child_process() {
    let Some(path) = std::env::var_os(CHILD_PATH) else { return };
    let store = open(path.as_ref()).unwrap();
    for _ in 0..PER_CHILD {
        add(&store, rex()).await;
    }
}

/// Without care, closing one store drops the locks of all others on the same file (POSIX), and
/// another process could then take the write-ahead log away from under them.
#[cfg(target_os = "linux")]
#[test]
fn closing_one_store_leaves_the_locks_of_another() {
    let place = Place::new();
    let staying = place.open();
    let inode = fs::metadata(place.path()).unwrap().ino();
    // The kernel's table is not read as one piece: while others lock and unlock, a reading may have a
    // line too many or too few. Half of many readings are not wrong in the same way.
    let locks = || {
        let mut counts = [(); 51].map(|()| {
            let table = fs::read_to_string("/proc/locks").unwrap();
            table.lines().filter(|line| line.contains(&format!(":{inode} "))).count()
        });
        counts.sort_unstable();
        counts[25]
    };
    let held = locks();
    assert!(held > 0, "an open store holds a lock on its file");
    drop(place.open());
    assert_eq!(locks(), held);
    drop(staying);
    assert_eq!(locks(), 0);
}
