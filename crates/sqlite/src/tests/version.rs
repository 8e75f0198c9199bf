//! The catalogue's version, and the version cache.

use std::{
    fs,
    time::{Duration, Instant},
};

use petstore_domain::{
    CatalogueVersion, Corruption, Handover as _, IdempotencyId, IdempotencyRequest, PetId,
    PetQuery, PetRepository, PetStatus, StoreError, Timestamp, Versioned,
};
use tokio::time::sleep;

use super::{Place, add, in_time, known_version, rex};
use crate::{connection::beside, readers::watch::INTERVAL, store::SqliteStore, version};

/// Ends when the version cache has `expected`.
async fn shows(store: &SqliteStore, expected: Option<CatalogueVersion>) {
    let shown = async {
        while store.version() != expected {
            sleep(INTERVAL / 10).await;
        }
    };
    in_time(shown).await;
}

/// The watch keeps a transaction open only while nothing is written.
#[tokio::test]
async fn the_log_restarts_beside_reads_and_writes() {
    let place = Place::new();
    let store = place.open();
    let log = || fs::metadata(beside(&place.path(), "-wal")).unwrap().len();
    let mut longest = 0;
    for _ in 0..1_000 {
        store.find(add(&store).await.id).await.unwrap();
        longest = log().max(longest);
    }
    // Without a restart, the log would have 12 MiB.
    assert!(longest < 8 * 1024 * 1024, "{longest}");
    let began = Instant::now();
    while began.elapsed() < INTERVAL * 5 {
        // The first page has more animals than are read, the second has fewer.
        for after in [None, Some(PetId(999))] {
            store.find(PetId(1)).await.unwrap();
            store.list(PetQuery { after, ..PetQuery::default() }).await.unwrap();
        }
    }
    // Waits until the watch sleeps.
    sleep(INTERVAL * 4).await;
    let (raw, checkpoint) = (place.raw(), "PRAGMA wal_checkpoint(TRUNCATE)");
    raw.busy_timeout(Duration::ZERO).unwrap();
    let busy: i64 = raw.query_row(checkpoint, [], |row| row.get(0)).unwrap();
    assert_eq!((busy, log()), (0, 0), "a transaction is open while nobody reads");
}

#[tokio::test]
async fn a_change_by_sql_renews_the_version_and_shows_in_the_version_cache() {
    let place = Place::new();
    let store = place.open();
    add(&store).await;
    let changes = || version::current(&place.raw()).unwrap().changes;
    for sql in [
        "UPDATE pet SET status = 'sold'",
        "INSERT INTO pet (name, category_id) VALUES ('Bello', 2)",
        "DELETE FROM pet",
    ] {
        let (before, count) = (known_version(&store).await, changes());
        place.raw().execute(sql, []).unwrap();
        assert_ne!(place.version(), before, "{sql}");
        assert!(changes() > count, "the later version is not known as the later one: {sql}");
        shows(&store, Some(place.version())).await;
        // The cache has the version of a commit after such a change, too.
        place.raw().execute(sql, []).unwrap();
        add(&store).await;
        assert_eq!(known_version(&store).await, place.version(), "{sql}");
    }
    let (state, count) = (store.state().await.unwrap(), changes());
    assert!(store.change_state(state.revision, state.next(state.phase.clone())).await.unwrap());
    assert!(changes() > count, "the version of the later state is not known as the later one");
}

#[tokio::test]
async fn a_missing_or_invalid_version_is_unknown_and_the_error_names_it() {
    let place = Place::new();
    let store = place.open();
    add(&store).await;
    for change in ["UPDATE petstore_state SET version = x'00'", "DELETE FROM petstore_state"] {
        place.raw().execute("UPDATE petstore_state SET version = randomblob(16)", []).unwrap();
        shows(&store, Some(place.version())).await;
        place.raw().execute(change, []).unwrap();
        let Err(StoreError::Corrupt(Corruption { what, rule })) = store.find(PetId(1)).await else {
            panic!("{change}")
        };
        assert_eq!(what, "the version of the catalogue");
        assert_eq!(rule, "the version is present and has 16 bytes");
        shows(&store, None).await;
    }
}

#[tokio::test]
async fn a_transaction_without_a_change_of_animals_keeps_the_version() {
    let place = Place::new();
    let store = place.open();
    let request = IdempotencyRequest::new(IdempotencyId([1; 16]), &rex(), Timestamp(1));
    store.add(rex(), Some(request)).await.unwrap();
    let before = known_version(&store).await;
    store.add(rex(), Some(request)).await.unwrap();
    store.purge_expired(Timestamp(i64::MAX), 10).await.unwrap();
    assert_eq!((known_version(&store).await, place.version()), (before, before));
}

/// At each step of the read in turn, another process adds an animal that matches the query.
#[tokio::test]
async fn an_empty_page_and_its_version_are_from_one_snapshot() {
    for status in [None, Some(PetStatus::Sold)] {
        let mut steps_seen = 0;
        for step in 1.. {
            let place = Place::new();
            let store = place.open();
            let before = place.version();
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
            if place.version() == before {
                break; // The read has ended before this step.
            }
            assert_eq!((page.pets, version), (Vec::new(), Some(before)), "step {step}");
            steps_seen += 1;
        }
        assert!(steps_seen > 0);
    }
}
