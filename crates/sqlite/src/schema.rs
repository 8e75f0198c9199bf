//! The schema, its number, and how a file is told to be ours.

use rusqlite::{Connection, TransactionBehavior, config::DbConfig};

/// Marks a SQLite file as a petstore store (`PRAGMA application_id`): `pst0` in ASCII.
pub(crate) const APPLICATION_ID: i32 = 0x7073_7430;

/// The statements that lead from one schema to the next; the first leads from an empty file.
const MIGRATIONS: [&str; 4] = [
    include_str!("../migrations/0001_catalogue.sql"),
    include_str!("../migrations/0002_covering_status_index.sql"),
    include_str!("../migrations/0003_identifiers_without_a_sequence.sql"),
    include_str!("../migrations/0004_an_index_for_each_status.sql"),
];

/// The schema that this binary writes (`PRAGMA user_version`).
pub(crate) const NEWEST: usize = MIGRATIONS.len();

/// The length of the header of a SQLite file, in bytes (<https://sqlite.org/fileformat2.html>).
pub(crate) const HEADER_LEN: usize = 100;

/// Why a file is not opened.
#[derive(Debug, thiserror::Error)]
pub(crate) enum SchemaError {
    /// Somebody else's file. It stays as it is.
    #[error("it is not a petstore store but {0}; it was left untouched: name another path")]
    Foreign(&'static str),
    /// A store of the future.
    #[error(
        "it was made by a newer petstore (schema {found}, this binary knows up to {NEWEST}); \
         it was left untouched: use that version of petstore"
    )]
    Newer {
        /// The schema's number.
        found: i32,
    },
    /// SQLite failed.
    #[error(transparent)]
    Sqlite(#[from] rusqlite::Error),
}

/// Judges a file by its first [`HEADER_LEN`] bytes, or fewer if it has fewer. An empty file is
/// new.
pub(crate) fn judge_header(header: &[u8]) -> Result<(), SchemaError> {
    if header.is_empty() {
        return Ok(());
    }
    let number = |at: usize| header.get(at..at + 4)?.try_into().ok().map(i32::from_be_bytes);
    match (number(68), number(60)) {
        (Some(application), Some(version)) if header.starts_with(b"SQLite format 3\0") => {
            judge(application, version).map(|_| ())
        }
        _ => Err(SchemaError::Foreign("a file of another kind")),
    }
}

/// Brings the database to schema [`NEWEST`], each step in one transaction. Several processes may
/// do so at once. `true` if anything was written.
///
/// After an error, `connection` is good for nothing.
pub(crate) fn migrate(connection: &mut Connection) -> Result<bool, SchemaError> {
    let mut migrated = false;
    // A migration may write to the schema's own table, which SQLite otherwise refuses.
    connection.set_db_config(DbConfig::SQLITE_DBCONFIG_DEFENSIVE, false)?;
    while number_of(connection)? < NEWEST {
        let transaction = connection.transaction_with_behavior(TransactionBehavior::Immediate)?;
        // Asked again: somebody else may have been faster.
        let number = number_of(&transaction)?;
        if let Some(migration) = MIGRATIONS.get(number) {
            transaction.execute_batch(migration)?;
            transaction.execute_batch(&format!(
                "PRAGMA application_id = {APPLICATION_ID}; PRAGMA user_version = {}",
                number + 1
            ))?;
            transaction.commit()?;
            migrated = true;
        }
    }
    connection.set_db_config(DbConfig::SQLITE_DBCONFIG_DEFENSIVE, true)?;
    Ok(migrated)
}

/// The number of the database's schema; 0 if it is empty. One statement, so that all of it is
/// from one snapshot.
fn number_of(connection: &Connection) -> Result<usize, SchemaError> {
    let sql = "SELECT (SELECT count(*) FROM sqlite_schema), \
                      (SELECT application_id FROM pragma_application_id), \
                      (SELECT user_version FROM pragma_user_version)";
    let (objects, application, version) = connection
        .query_row(sql, [], |row| Ok((row.get::<_, i64>(0)?, row.get(1)?, row.get(2)?)))?;
    if (objects, application, version) == (0, 0, 0) { Ok(0) } else { judge(application, version) }
}

/// The number of the schema of a database that is not empty.
fn judge(application: i32, version: i32) -> Result<usize, SchemaError> {
    if application != APPLICATION_ID {
        return Err(SchemaError::Foreign("a SQLite database of another application"));
    }
    match usize::try_from(version) {
        Ok(number @ 1..=NEWEST) => Ok(number),
        Ok(1..) => Err(SchemaError::Newer { found: version }),
        Ok(0) | Err(_) => Err(SchemaError::Foreign("a petstore store without a schema")),
    }
}
