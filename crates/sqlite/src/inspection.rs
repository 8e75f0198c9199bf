//! The check of a file: pages, schema, durability and the files beside it. The caller checks the rows through the
//! ports.

use std::collections::BTreeSet;

use petstore_storage::Finding;
use rusqlite::{Connection, MAIN_DB};
use rustix::fs::{Access, access};

use crate::{config::Synchronous, error::is_damage, open, schema, store::SqliteStore};

impl SqliteStore {
    /// Checks the file: SQLite's integrity check, the schema, the durability of commits, and the access to the files
    /// beside it. Reads the whole file, and blocks the thread meanwhile. Writes nothing.
    ///
    /// # Errors
    /// SQLite's error, if the file cannot be read at all.
    pub fn inspect(&self) -> rusqlite::Result<Vec<Finding>> {
        let pool = &self.readers.shared.pool;
        let reader = pool.open()?;
        let mut findings = vec![
            inspect_integrity(&reader)?,
            inspect_schema(&reader, false)?,
            inspect_schema(&reader, true)?,
            inspect_durability(&reader, pool.synchronous)?,
        ];
        if access(&pool.path, Access::WRITE_OK).is_ok()
            && let Err(reason) = open::require_companions(&pool.path)
        {
            findings.push(Finding::error("companions", reason.to_string()));
        }
        Ok(findings)
    }
}

fn inspect_integrity(connection: &Connection) -> rusqlite::Result<Finding> {
    Ok(match first_fault(connection)? {
        None => Finding::ok("integrity", "SQLite's check of every page and index finds no fault"),
        Some(fault) => Finding::error("integrity", format!("{fault}; restore a backup")),
    })
}

fn inspect_durability(reader: &Connection, synchronous: Synchronous) -> rusqlite::Result<Finding> {
    let subject = "durability";
    let mode: String = reader.pragma_query_value(None, "journal_mode", |row| row.get(0))?;
    if mode != "wal" {
        let detail = if reader.is_readonly(MAIN_DB)? {
            "its disk is read-only, and nothing is written"
        } else {
            "it has no write-ahead log, like a backup; 'petstore serve' gives it one"
        };
        return Ok(Finding::ok(subject, detail));
    }
    let settings = format!("journal_mode is wal, synchronous is {synchronous:?}").to_lowercase();
    Ok(if synchronous == Synchronous::Normal {
        let risk = "a power failure may undo the last acknowledged writes";
        Finding::warning(subject, format!("{settings}: {risk}"))
    } else {
        let promise = "what was acknowledged outlasts a power failure";
        Finding::ok(subject, format!("{settings}: {promise}"))
    })
}

/// Compares the schema with the schema of a new store: the indexes, or the tables and triggers.
fn inspect_schema(connection: &Connection, indexes: bool) -> rusqlite::Result<Finding> {
    let (subject, what) =
        if indexes { ("indexes", "indexes") } else { ("schema", "tables and triggers") };
    let expected = objects(&schema::in_memory()?, indexes)?;
    let found = objects(connection, indexes)?;
    let names = |of: Vec<&(String, String)>| {
        of.into_iter().map(|(name, _)| name.as_str()).collect::<Vec<_>>().join(", ")
    };
    let missing: Vec<_> = expected.difference(&found).collect();
    let foreign: Vec<_> = found.difference(&expected).collect();
    let version = schema::VERSION;
    Ok(if !missing.is_empty() {
        let missing = names(missing);
        Finding::error(subject, format!("version {version}, but missing or changed: {missing}"))
    } else if !foreign.is_empty() {
        let has_triggers = foreign.iter().any(|(_, sql)| sql.starts_with("CREATE TRIGGER"));
        let triggers =
            if has_triggers { "; triggers do not run for what petstore writes" } else { "" };
        let foreign = names(foreign);
        let detail = format!("version {version}, and not petstore's: {foreign}{triggers}");
        Finding::warning(subject, detail)
    } else {
        Finding::ok(subject, format!("version {version}, with all its {what}"))
    })
}

/// Returns the name and definition of each index if `indexes`, otherwise of each table, view and trigger. Skips
/// SQLite's internal objects.
fn objects(connection: &Connection, indexes: bool) -> rusqlite::Result<BTreeSet<(String, String)>> {
    let sql = "SELECT name, coalesce(sql, '') FROM sqlite_schema \
         WHERE name NOT LIKE 'sqlite~_%' ESCAPE '~' AND (type = 'index') = ?1";
    let mut statement = connection.prepare(sql)?;
    statement.query_map([indexes], |row| Ok((row.get(0)?, row.get(1)?)))?.collect()
}

/// Checks every page, row and index. Returns the first fault in one line; `None` if there is none.
pub(crate) fn first_fault(connection: &Connection) -> rusqlite::Result<Option<String>> {
    // The domain checks the rules of rows instead, and its error names the row.
    connection.pragma_update(None, "ignore_check_constraints", true)?;
    let finding: String =
        match connection.query_row("PRAGMA integrity_check(1)", [], |row| row.get(0)) {
            Err(error) if is_damage(&error) => error.to_string(),
            found => found?,
        };
    Ok((finding != "ok").then(|| finding.lines().collect::<Vec<_>>().join(" ")))
}

#[cfg(test)]
mod tests {
    use std::{fs, os::unix::fs::FileExt as _, time::Duration};

    use petstore_storage::{Finding, Severity};
    use rusqlite::ErrorCode;

    use super::{first_fault, inspect_durability, inspect_schema};
    use crate::{
        config::Synchronous,
        schema,
        tests::{Place, groups::damage_sold},
    };

    #[test]
    fn a_missing_and_a_foreign_object_of_the_schema_are_named() {
        let store = schema::in_memory().unwrap();
        let found = |indexes| {
            let Finding { severity, detail, .. } = inspect_schema(&store, indexes).unwrap();
            format!("{severity:?}: {detail}")
        };
        for (indexes, what) in [(false, "tables and triggers"), (true, "indexes")] {
            assert_eq!(found(indexes), format!("Ok: version 10, with all its {what}"));
        }
        store.execute_batch("CREATE TABLE mine (x); CREATE INDEX theirs ON mine (x)").unwrap();
        assert_eq!(found(false), "Warning: version 10, and not petstore's: mine");
        assert_eq!(found(true), "Warning: version 10, and not petstore's: theirs");
        store.execute_batch("CREATE TRIGGER own AFTER INSERT ON pet BEGIN SELECT 1; END").unwrap();
        let also = "mine, own; triggers do not run for what petstore writes";
        assert_eq!(found(false), format!("Warning: version 10, and not petstore's: {also}"));
        store.execute_batch("DROP TABLE pet").unwrap();
        let missing = "Error: version 10, but missing or changed: pet";
        assert!(found(false).starts_with(missing), "{}", found(false));
        assert_eq!(found(true), format!("{missing}_available, pet_pending, pet_sold"));
        let backup = inspect_durability(&store, Synchronous::Full).unwrap().detail;
        assert!(backup.starts_with("it has no write-ahead log, like a backup"), "{backup}");
    }

    #[tokio::test]
    async fn a_row_missing_from_an_index_and_a_damaged_page_are_found() {
        let place = Place::new();
        let store = place.open();
        let setting = "journal_mode is wal, synchronous is normal";
        let risk = format!("{setting}: a power failure may undo the last acknowledged writes");
        assert_eq!(store.inspect().unwrap()[3], Finding::warning("durability", risk));
        for (synchronous, name) in [(Synchronous::Full, "full"), (Synchronous::Extra, "extra")] {
            let setting = format!("journal_mode is wal, synchronous is {name}");
            let lasts = format!("{setting}: what was acknowledged outlasts a power failure");
            let found = inspect_durability(&place.raw(), synchronous).unwrap();
            assert_eq!(found, Finding::ok("durability", lasts));
        }
        let rewrite = |from, to| {
            let sql = "UPDATE sqlite_schema SET sql = replace(sql, ?1, ?2) WHERE name = 'pet_sold'";
            let raw = place.raw();
            raw.pragma_update(None, "writable_schema", true).unwrap();
            raw.execute(sql, [from, to]).unwrap();
        };
        // The row is added while the index has another definition.
        rewrite("'sold'", "'none'");
        let add = "INSERT INTO pet (name, category_id, status) VALUES ('Bello', 1, 'sold')";
        place.raw().execute(add, []).unwrap();
        rewrite("'none'", "'sold'");
        let integrity = || store.inspect().unwrap().remove(0);
        let missing = "row 1 missing from index pet_sold; restore a backup";
        assert_eq!(integrity(), Finding::error("integrity", missing));
        assert_eq!(place.number("PRAGMA wal_checkpoint(TRUNCATE)"), 0);
        damage_sold(&place);
        assert_eq!(integrity().severity, Severity::Error, "{:?}", integrity());
        let detail = integrity().detail;
        assert!(detail.contains(" page ") && !detail.contains('\n'), "{detail}");
    }

    #[test]
    fn a_locked_file_is_an_error_and_a_damaged_file_a_fault() {
        let place = Place::new();
        let [writer, reader] = [(); 2].map(|()| place.raw());
        reader.busy_timeout(Duration::ZERO).unwrap();
        writer.execute_batch("CREATE TABLE t (x CHECK (x > 0)); BEGIN EXCLUSIVE").unwrap();
        let busy = first_fault(&reader).unwrap_err();
        assert_eq!(busy.sqlite_error_code(), Some(ErrorCode::DatabaseBusy));
        // The rules of rows are checked elsewhere.
        let breaks = "PRAGMA ignore_check_constraints = ON; INSERT INTO t VALUES (0); COMMIT";
        writer.execute_batch(breaks).unwrap();
        assert_eq!(first_fault(&reader).unwrap(), None);
        // The kind of the page that names all tables.
        let file = fs::OpenOptions::new().write(true).open(place.path()).unwrap();
        file.write_all_at(&[255], 100).unwrap();
        let fault = first_fault(&place.raw()).unwrap();
        assert_eq!(fault.as_deref(), Some("database disk image is malformed"));
    }
}
