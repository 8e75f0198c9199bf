//! Statements search an index instead of scanning a table, and none sorts. Only API keys are scanned.

use petstore_domain::{
    IdempotencyId, IdempotencyRequest, PetRepository as _, PetStatus, Timestamp,
};
use rusqlite::{Connection, params_from_iter};

use super::{Place, rex};
use crate::{api_keys as keys, handover, pets::rows as pets, version};

fn plan(connection: &Connection, sql: &str) -> String {
    let mut statement = connection.prepare(&format!("EXPLAIN QUERY PLAN {sql}")).unwrap();
    let nulls = vec![rusqlite::types::Null; statement.parameter_count()];
    let details =
        statement.query_map(params_from_iter(nulls), |row| row.get::<_, String>("detail")).unwrap();
    details.map(|detail| detail.unwrap() + "\n").collect()
}

const SEARCHED: [&str; 21] = [
    version::SELECT,
    version::RENEW,
    pets::INSERT,
    pets::RESTORE,
    pets::FIND,
    pets::PAGE,
    pets::RECORD,
    pets::INSERT_RECORD,
    pets::PURGE,
    pets::DELETE_RECORD,
    pets::RECORDS_AFTER,
    pets::HIGHEST_ID,
    version::SELECT_STORED,
    handover::rows::IS_OPEN,
    handover::rows::STATE,
    keys::BY_ID_OR_DIGEST,
    keys::SINCE,
    keys::HEAD,
    keys::NOTE_USE,
    keys::WRITE,
    keys::REMOVE,
];

fn assert_searched(connection: &Connection) {
    for status in PetStatus::ALL {
        assert_eq!(
            plan(connection, pets::page_with(status)),
            format!("SEARCH pet USING COVERING INDEX pet_{status} (id>?)\n")
        );
    }
    for sql in SEARCHED {
        let plan = plan(connection, sql);
        // `SCAN CONSTANT ROW` reads no table, `petstore_state` has one row, and `sqlite_sequence` one for each table.
        let harmless = ["SCAN CONSTANT ROW", "SCAN petstore_state", "SCAN sqlite_sequence"];
        let scans = plan.lines().any(|line| line.starts_with("SCAN ") && !harmless.contains(&line));
        assert!(!scans && !plan.contains("TEMP B-TREE"), "{sql}\n{plan}");
    }
    // The keys, at most some ten thousand, are all read, but not sorted.
    assert!(!plan(connection, keys::ALL).contains("TEMP B-TREE"));
    let sum = plan(connection, keys::SUM);
    assert_eq!(sum, "SCAN api_key USING COVERING INDEX api_key_by_stamp\n");
}

#[tokio::test]
async fn no_statement_scans_or_sorts_before_and_after_analyze() {
    let place = Place::new();
    let store = place.open();
    assert_searched(&store.readers.shared.pool.open().unwrap());
    let fill = "WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 2000)
         INSERT INTO pet (name, category_id, status) SELECT 'Rex', 1, 'available' FROM n;
         ANALYZE;";
    place.raw().execute_batch(fill).unwrap();
    assert_searched(&store.readers.shared.pool.open().unwrap());
}

#[tokio::test]
async fn records_and_pages_are_read_from_their_indexes() {
    let place = Place::new();
    let store = place.open();
    let connection = store.readers.shared.pool.open().unwrap();
    let by_id = "SEARCH idempotency USING INDEX idempotency_by_id (id=?)\n";
    assert_eq!(plan(&connection, pets::RECORD), by_id);
    let by_place = "SEARCH idempotency USING PRIMARY KEY ((pet_id,id)>(?,?))\n";
    assert_eq!(plan(&connection, pets::RECORDS_AFTER), by_place);
    let by_age = "SEARCH idempotency USING COVERING INDEX idempotency_by_age (created_at<?)\n";
    let purge = plan(&connection, pets::PURGE);
    assert!(purge.starts_with("SEARCH idempotency USING") && purge.contains("(id=?)"), "{purge}");
    assert!(purge.contains(by_age), "{purge}");
    assert_eq!(plan(&connection, pets::PAGE), "SEARCH pet USING INTEGER PRIMARY KEY (rowid>?)\n");
}

#[tokio::test]
async fn the_oldest_records_are_purged_first() {
    let place = Place::new();
    let store = place.open();
    for (id, at) in [(1, 30), (2, 10), (3, 20), (4, 40)] {
        let request = IdempotencyRequest::new(IdempotencyId([id; 16]), &rex(), Timestamp(at));
        store.add(rex(), Some(request)).await.unwrap();
    }
    store.purge_expired(Timestamp(30), 2).await.unwrap();
    let mut records =
        pets::records_after(&store.readers.shared.pool.open().unwrap(), None, 9).unwrap();
    records.sort_by_key(|record| record.at);
    assert_eq!(records.iter().map(|record| record.at.0).collect::<Vec<_>>(), [30, 40]);
}
