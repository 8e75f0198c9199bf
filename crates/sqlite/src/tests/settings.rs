//! The settings of connections.

use std::fs;

use rusqlite::{Connection, config::DbConfig};

use super::Place;
use crate::{
    config::{SqliteConfig, Synchronous},
    connection::open_logged,
    store::SqliteStore,
};

fn pragma(connection: &Connection, name: &str) -> i64 {
    connection.pragma_query_value(None, name, |row| row.get(0)).unwrap()
}

fn assert_common(connection: &Connection) {
    for (name, value) in [("foreign_keys", 1), ("trusted_schema", 0), ("writable_schema", 0)] {
        assert_eq!(pragma(connection, name), value, "{name}");
    }
    for config in [DbConfig::SQLITE_DBCONFIG_ENABLE_QPSG, DbConfig::SQLITE_DBCONFIG_DEFENSIVE] {
        assert!(connection.db_config(config).unwrap(), "{config:?}");
    }
    let mode: String =
        connection.pragma_query_value(None, "journal_mode", |row| row.get(0)).unwrap();
    assert_eq!(mode, "wal");
}

#[tokio::test]
async fn a_write_other_than_an_addition_always_waits_for_the_disk() {
    for (synchronous, number) in
        [(Synchronous::Normal, 2), (Synchronous::Full, 2), (Synchronous::Extra, 3)]
    {
        let place = Place::new();
        let store = SqliteStore::open(&SqliteConfig { synchronous, ..place.config() }).unwrap();
        let look = move |connection: &Connection| {
            assert_common(connection);
            assert_eq!(pragma(connection, "synchronous"), number);
            assert_eq!(pragma(connection, "journal_size_limit"), 16 * 1024 * 1024);
            assert_eq!(pragma(connection, "cell_size_check"), 1);
            assert_eq!(pragma(connection, "ignore_check_constraints"), 1);
            Ok(())
        };
        store.writer().unwrap().write(look).await.unwrap();
    }
    assert_eq!(Synchronous::default(), Synchronous::Full);
}

#[tokio::test]
async fn readers_neither_write_nor_create_a_file_and_wait_less_for_a_lock_than_the_writer() {
    let place = Place::new();
    let store = SqliteStore::open(&place.config()).unwrap();
    let pool = &store.readers.shared.pool;
    let reader = pool.open().unwrap();
    assert_common(&reader);
    let refusal = reader.execute("DELETE FROM pet", []).unwrap_err().to_string();
    assert!(refusal.contains("readonly"), "{refusal}");
    assert_eq!((pragma(&reader, "busy_timeout"), pragma(&reader, "cache_size")), (250, -4096));
    assert_eq!(pool.busy_timeout.as_secs(), 3);
    assert_eq!(pragma(&open_logged(&place.path()).unwrap(), "busy_timeout"), 3000);
    fs::rename(place.path(), place.path().with_extension("away")).unwrap();
    assert!(pool.open().is_err() && !place.path().exists());
}
