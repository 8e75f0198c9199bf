//! What the service's shared commits are measured against: rows added to SQLite, each in a commit of
//! its own, one after the other.
//!
//! It is as durable as the service: a write-ahead log with `synchronous=FULL`. There is no network,
//! no index and no check, so no server that commits each addition alone adds more.

use std::{
    path::Path,
    time::{Duration, Instant},
};

use anyhow::{Context as _, Result};
use rusqlite::Connection;

use crate::console::say;

const SCHEMA: &str = "PRAGMA journal_mode = WAL;
    PRAGMA synchronous = FULL;
    CREATE TABLE IF NOT EXISTS pet (id INTEGER PRIMARY KEY, name TEXT NOT NULL) STRICT;";

/// Adds rows to the store in `file` for so many seconds, and prints how many a second.
pub(crate) fn run(file: &Path, seconds: u32) -> Result<()> {
    let store = Connection::open(file).context("cannot open a SQLite file")?;
    store.execute_batch(SCHEMA).context("cannot create the table")?;
    let mut insert = store.prepare("INSERT INTO pet (name) VALUES ('Rex')")?;
    let began = Instant::now();
    let mut added = 0_u64;
    while began.elapsed() < Duration::from_secs(seconds.into()) {
        insert.execute(()).context("cannot add a row")?;
        added += 1;
    }
    say(added as f64 / began.elapsed().as_secs_f64());
    Ok(())
}
