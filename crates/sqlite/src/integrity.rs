//! The check of a file: SQLite's own, and that no idempotency record is missing from its index.

use rusqlite::{Connection, ErrorCode, OptionalExtension as _};

use crate::pets::idempotency::recent;

/// Checks every page, row and index. What is found first, in one line; `None` if there is no fault.
pub(crate) fn first_fault(connection: &Connection) -> rusqlite::Result<Option<String>> {
    check(connection, "PRAGMA integrity_check(1)")
}

/// Checks what a snapshot reads. Animals and keys are read from their tables, so whether SQLite's indexes
/// have every row, which takes two thirds of the whole check, is of no matter to it.
pub(crate) fn first_fault_in_a_snapshot(
    connection: &Connection,
) -> rusqlite::Result<Option<String>> {
    check(connection, "PRAGMA quick_check(1)")
}

fn check(connection: &Connection, check: &str) -> rusqlite::Result<Option<String>> {
    let fault = run(connection, check)?;
    if fault.is_some() {
        return Ok(fault);
    }
    let mut missing = connection.prepare(recent::MISSING)?;
    let missing = missing.query_row([recent::UNINDEXED], |row| row.get::<_, i64>(0)).optional()?;
    Ok(missing.map(|row| format!("row {row} missing from idempotency_index")))
}

fn run(connection: &Connection, check: &str) -> rusqlite::Result<Option<String>> {
    // What the schema's own rules forbid is left to the domain, which names the row.
    connection.pragma_update(None, "ignore_check_constraints", true)?;
    let finding: String = match connection.query_row(check, [], |row| row.get(0)) {
        Err(error) if error.sqlite_error_code() == Some(ErrorCode::DatabaseCorrupt) => {
            error.to_string()
        }
        found => found?,
    };
    Ok((finding != "ok").then(|| finding.lines().collect::<Vec<_>>().join(" ")))
}
