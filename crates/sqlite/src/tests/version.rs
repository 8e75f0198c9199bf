//! The catalogue's version, and the version cache.

use std::{
    fs,
    time::{Duration, Instant},
};

use petstore_domain::{
    Archive as _, CatalogueVersion, Corruption, Handover as _, IdempotencyId, IdempotencyRequest,
    KeyStore as _, PetId, PetQuery, PetRepository, PetStatus, Phase, Rows, StoreError, StoreId,
    Timestamp, WriterRole,
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
    let filling = state.next(Phase::Filling { from: StoreId([7; 16]) });
    let mover = WriterRole::Mover(filling.revision);
    assert!(store.change_state(state.revision, filling).await.unwrap());
    assert!(changes() > count, "the version of the later state is not known as the later one");
    // A store that is filled gets no version, with which it could be read.
    let rows = Rows { pets: vec![rex().with_id(PetId(99))], ..Rows::default() };
    store.write_rows(mover, rows).await.unwrap();
    let refusal = store.find(PetId(99)).await.unwrap_err();
    assert!(matches!(refusal, StoreError::Sealed(_)), "{refusal}");
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

/// Reads the keys, their changes, or animals, with the version or revision. Returns the result as text.
async fn read(store: &SqliteStore, what: &str) -> String {
    let status = (what == "sold").then_some(PetStatus::Sold);
    match what {
        "keys" => format!("{:?}", store.load(None).await.unwrap()),
        "changes" => format!("{:?}", store.load_changes(None).await.unwrap()),
        _ => format!("{:?}", store.list(PetQuery { status, ..<_>::default() }).await.unwrap()),
    }
}

/// At each step of the read in turn, another process changes an animal and an API key.
#[tokio::test]
async fn rows_and_their_version_are_from_one_snapshot() {
    let place = Place::new();
    let store = place.open();
    let rows = "INSERT INTO pet (name, category_id) VALUES ('x', 1); \
         INSERT INTO api_key (name, digest, prefix, created_at, rights) \
         VALUES ('x', randomblob(32), 'pst_1234', 1, 'full')";
    place.raw().execute_batch(rows).unwrap();
    let change = "PRAGMA synchronous = OFF; BEGIN; \
         UPDATE pet SET status = CASE status WHEN 'sold' THEN 'pending' ELSE 'sold' END; \
         UPDATE api_key SET revoked_at = coalesce(revoked_at, 0) + 1; COMMIT";
    for what in ["animals", "sold", "keys", "changes"] {
        let mut steps_seen = 0;
        for step in 1.. {
            store.readers.shared.pool.idle().clear();
            let (version, before) = (place.version(), read(&store, what).await);
            let mut reader = store.readers.shared.pool.open().unwrap();
            let (raw, mut steps) = (place.raw(), 0);
            let each_step = move || {
                steps += 1;
                if steps == step {
                    raw.execute_batch(change).unwrap();
                }
                false
            };
            reader.progress_handler(1, Some(each_step)).unwrap();
            store.readers.shared.pool.idle().push(reader);
            let found = read(&store, what).await;
            if place.version() == version {
                break; // The read has ended before this step.
            }
            let after = read(&store, what).await;
            assert!([&before, &after].contains(&&found), "{what}, step {step}: {found}");
            steps_seen += usize::from(found == before);
        }
        assert!(steps_seen > 0, "{what}");
    }
}
