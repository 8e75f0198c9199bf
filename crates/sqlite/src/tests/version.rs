//! The catalogue's version, and the version cache.

use std::{
    fs,
    sync::Arc,
    time::{Duration, Instant},
};

use petstore_domain::{
    CatalogueVersion, PageLimit, PetId, PetQuery, PetRepository, PetStatus, Timestamp, Versioned,
};
use tokio::{
    task::JoinSet,
    time::{sleep, timeout},
};

use super::{LIMIT, Place, add, block_writer, known_version, rex};
use crate::{connection::beside, readers::watch::INTERVAL, version};

/// Returns the version in the file.
fn stored(place: &Place) -> CatalogueVersion {
    let version: [u8; 16] = place.raw().query_row(version::SELECT, [], |row| row.get(0)).unwrap();
    CatalogueVersion(u128::from_be_bytes(version))
}

#[tokio::test]
async fn a_read_leaves_no_transaction_open() {
    let place = Place::new();
    let store = place.open();
    add(&store).await;
    for id in [1, 2] {
        store.find(PetId(id)).await.unwrap();
        store.list(PetQuery { limit: PageLimit::MIN, ..PetQuery::default() }).await.unwrap();
        // An open transaction would block the checkpoint.
        let busy: i64 =
            place.raw().query_row("PRAGMA wal_checkpoint(TRUNCATE)", [], |row| row.get(0)).unwrap();
        assert_eq!(busy, 0);
    }
}

/// The watch keeps a transaction open only while nothing is written.
#[tokio::test]
async fn the_log_restarts_beside_reads_and_writes() {
    let place = Place::new();
    let store = place.open();
    let log = || fs::metadata(beside(&place.path(), "-wal")).unwrap().len();
    let mut longest = 0;
    for _ in 0..4_000 {
        store.find(add(&store).await.id).await.unwrap();
        longest = log().max(longest);
    }
    // Without a restart, the log would be three times as long.
    assert!(longest < 17 * 1024 * 1024, "{longest}");
    let began = Instant::now();
    while began.elapsed() < INTERVAL * 5 {
        store.find(PetId(1)).await.unwrap();
    }
    // Waits until the watch sleeps.
    sleep(INTERVAL * 4).await;
    let (raw, checkpoint) = (place.raw(), "PRAGMA wal_checkpoint(TRUNCATE)");
    raw.busy_timeout(Duration::ZERO).unwrap();
    let busy: i64 = raw.query_row(checkpoint, [], |row| row.get(0)).unwrap();
    assert_eq!((busy, log()), (0, 0), "a transaction is open while nobody reads");
}

#[tokio::test]
async fn the_version_is_unknown_while_it_cannot_be_read() {
    let place = Place::new();
    let store = place.open();
    add(&store).await;
    let raw = place.raw();
    raw.execute("ALTER TABLE petstore_state RENAME TO away", []).unwrap();
    let unknown = async {
        while store.version().is_some() {
            sleep(INTERVAL / 10).await;
        }
    };
    timeout(LIMIT, unknown).await.unwrap();
    raw.execute("ALTER TABLE away RENAME TO petstore_state", []).unwrap();
    assert_eq!(known_version(&store).await, stored(&place));
}

#[tokio::test]
async fn a_commit_after_a_write_of_another_process_shows_in_the_version_cache() {
    let place = Place::new();
    let store = place.open();
    for name in ["Bello", "Waldi", "Rex"] {
        place.raw().execute("UPDATE pet SET name = ?1", [name]).unwrap();
        let before = stored(&place);
        add(&store).await;
        let version = known_version(&store).await;
        assert_eq!(version, stored(&place));
        assert_ne!(version, before);
    }
}

#[tokio::test]
async fn additions_of_one_group_renew_the_version_once() {
    let place = Place::new();
    let store = Arc::new(place.open());
    let release = block_writer(&store).await;
    let mut group = JoinSet::new();
    for _ in 0..3 {
        let store = Arc::clone(&store);
        group.spawn(async move { store.add(rex(), None).await.map(|_| store.version()) });
    }
    tokio::task::yield_now().await;
    let before = stored(&place);
    drop(release);
    for version in group.join_all().await {
        assert_eq!(
            version.unwrap(),
            Some(stored(&place)),
            "the version must be published before the answer"
        );
    }
    assert_ne!(stored(&place), before);
}

#[tokio::test]
async fn a_page_without_animals_has_a_version() {
    let place = Place::new();
    let store = place.open();
    let empty = store.list(PetQuery::default()).await.unwrap();
    assert_eq!((empty.value.pets.len(), empty.version), (0, Some(stored(&place))));
    add(&store).await;
    let behind = PetQuery { after: Some(PetId(1)), ..PetQuery::default() };
    let later = store.list(behind).await.unwrap();
    assert_eq!((later.value.pets.len(), later.version), (0, Some(stored(&place))));
    assert_ne!(later.version, empty.version);
}

#[tokio::test]
async fn a_transaction_without_a_change_of_animals_keeps_the_version() {
    let place = Place::new();
    let store = place.open();
    add(&store).await;
    let before = known_version(&store).await;
    store.purge_expired(Timestamp(i64::MAX), 10).await.unwrap();
    assert_eq!(known_version(&store).await, before);
    add(&store).await;
    assert_ne!(known_version(&store).await, before);
}

/// At each step of the read in turn, another process adds an animal that matches the query.
#[tokio::test]
async fn an_empty_page_and_its_version_are_from_one_snapshot() {
    for status in [None, Some(PetStatus::Sold)] {
        let mut steps_seen = 0;
        for step in 1.. {
            let place = Place::new();
            let store = place.open();
            let before = stored(&place);
            let mut reader = store.readers.shared.pool.open().unwrap();
            let (raw, mut steps) = (place.raw(), 0);
            let each_step = move || {
                steps += 1;
                if steps == step {
                    let sql = "INSERT INTO pet (name, category_id, status) VALUES ('x', 1, 'sold')";
                    raw.execute(sql, []).unwrap();
                }
                false
            };
            reader.progress_handler(1, Some(each_step)).unwrap();
            store.readers.shared.pool.idle().push(reader);
            let query = PetQuery { status, ..PetQuery::default() };
            let Versioned { value: page, version } = store.list(query).await.unwrap();
            if stored(&place) == before {
                break; // The read has ended before this step.
            }
            assert_eq!((page.pets, version), (Vec::new(), Some(before)), "step {step}");
            steps_seen += 1;
        }
        assert!(steps_seen > 0);
    }
}
