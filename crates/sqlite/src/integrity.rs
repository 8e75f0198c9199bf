//! SQLite's own check of a file.

use rusqlite::{Connection, ErrorCode};

/// Runs SQLite's check of every page, row and index. What it finds first, in one line; `None` if it
/// finds no fault.
pub(crate) fn first_fault(connection: &Connection) -> rusqlite::Result<Option<String>> {
    // What the schema's own rules forbid is left to the domain, which names the row.
    connection.pragma_update(None, "ignore_check_constraints", true)?;
    let check = "PRAGMA integrity_check(1)";
    let finding: String = match connection.query_row(check, [], |row| row.get(0)) {
        Err(error) if error.sqlite_error_code() == Some(ErrorCode::DatabaseCorrupt) => {
            error.to_string()
        }
        found => found?,
    };
    Ok((finding != "ok").then(|| finding.lines().collect::<Vec<_>>().join(" ")))
}
