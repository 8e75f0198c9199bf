//! No statement of the catalogue reads more rows than it answers with, and none sorts.

use petstore_domain::PetStatus;
use rusqlite::{Connection, params_from_iter};

use super::Place;
use crate::{
    api_keys::rows as keys,
    pets::{idempotency, rows as pets},
    renewal, version,
};

fn plan(connection: &Connection, sql: &str) -> String {
    let mut statement = connection.prepare(&format!("EXPLAIN QUERY PLAN {sql}")).unwrap();
    let nulls = vec![rusqlite::types::Null; statement.parameter_count()];
    let details =
        statement.query_map(params_from_iter(nulls), |row| row.get::<_, String>("detail")).unwrap();
    details.map(|detail| detail.unwrap() + "\n").collect()
}

const SEARCHED: [&str; 18] = [
    version::SELECT,
    renewal::RENEW,
    pets::INSERT,
    pets::RESTORE,
    pets::FIND,
    pets::FROM,
    pets::PAGE,
    idempotency::FIND,
    idempotency::AFTER,
    idempotency::WRITE,
    idempotency::PURGE,
    keys::BY_ID,
    keys::NOT_REVOKED_BY_ID,
    keys::NOT_REVOKED_BY_NAME,
    keys::NAME_IS_LIVE,
    keys::DIGEST_OWNER,
    keys::WRITE,
    keys::NOTE_USE,
];

fn assert_searched(connection: &Connection) {
    let with_status = PetStatus::ALL.map(pets::page_with);
    for sql in SEARCHED.into_iter().chain(with_status).chain([keys::INSERT]) {
        let plan = plan(connection, sql);
        // `SCAN CONSTANT ROW` reads no table, and the table of the version has one row.
        let harmless = ["SCAN CONSTANT ROW", "SCAN catalogue"];
        let scans = plan.lines().any(|line| line.starts_with("SCAN ") && !harmless.contains(&line));
        assert!(!scans && !plan.contains("TEMP B-TREE"), "{sql}\n{plan}");
    }
    // There are at most some ten thousand keys; they are read whole, but not sorted.
    for sql in [keys::ALL, keys::LIVE, keys::COUNT_LIVE] {
        assert!(!plan(connection, sql).contains("TEMP B-TREE"), "{sql}");
    }
}

#[test]
fn no_statement_scans_or_sorts() {
    let place = Place::new();
    let store = place.open();
    assert_searched(&store.readers.pool.open().unwrap());
}

#[test]
fn nor_when_the_statistics_tempt_it_to() {
    let place = Place::new();
    let store = place.open();
    let raw = place.raw();
    raw.execute_batch(
        "WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 2000)
         INSERT INTO pet (name, category_id, status) SELECT 'Rex', 1, 'available' FROM n;
         ANALYZE;",
    )
    .unwrap();
    assert_searched(&store.readers.pool.open().unwrap());
}

/// How the version is found, once for a page.
const VERSION: &str = "SCALAR SUBQUERY 1\nSEARCH catalogue USING INTEGER PRIMARY KEY (rowid=?)\n";

#[test]
fn a_page_of_one_status_is_read_from_its_place_in_the_index_alone() {
    let place = Place::new();
    let store = place.open();
    let connection = store.readers.pool.open().unwrap();
    for status in PetStatus::ALL {
        assert_eq!(
            plan(&connection, pets::page_with(status)),
            format!("SEARCH pet USING COVERING INDEX pet_{status} (id>?)\n{VERSION}")
        );
    }
    assert_eq!(
        plan(&connection, pets::PAGE),
        format!("SEARCH pet USING INTEGER PRIMARY KEY (rowid>?)\n{VERSION}")
    );
}
