//! The schema, its version, and how a file is recognised as a store.

use rusqlite::{Connection, TransactionBehavior};

/// Marks a SQLite file as a petstore store (`PRAGMA application_id`): `pst0` in ASCII.
pub(crate) const APPLICATION_ID: i32 = 0x7073_7430;

/// The version of the schema (`PRAGMA user_version`). A file of any other is refused.
pub(crate) const VERSION: i32 = 7;

const SCHEMA: &str = include_str!("schema.sql");
/// What a move needs besides.
pub(crate) const OF_A_MOVE: &str = include_str!("relocation.sql");

/// The length of the header of a SQLite file, in bytes (<https://sqlite.org/fileformat2.html>).
pub(crate) const HEADER_LEN: usize = 100;

/// Why a file is not opened.
#[derive(Debug, thiserror::Error)]
pub(crate) enum SchemaError {
    /// The file belongs to something else. It stays as it is.
    #[error("it is not a petstore store but {0}; it was left untouched: name another path")]
    Foreign(&'static str),
    /// A store of an older or a newer petstore. It stays as it is.
    #[error(
        "its schema is unsupported (expected {VERSION}, actual {actual}); \
         it was left untouched: use the version of petstore that made it"
    )]
    Unsupported {
        /// The version in the file.
        actual: i32,
    },
    /// SQLite failed.
    #[error(transparent)]
    Sqlite(#[from] rusqlite::Error),
}

/// Checks a file by its first [`HEADER_LEN`] bytes, or fewer if it has fewer, before SQLite opens
/// it. An empty file is a new one.
pub(crate) fn check_header(header: &[u8]) -> Result<(), SchemaError> {
    if header.is_empty() {
        return Ok(());
    }
    let number = |at: usize| header.get(at..at + 4)?.try_into().ok().map(i32::from_be_bytes);
    match (number(68), number(60)) {
        (Some(application), Some(version)) if header.starts_with(b"SQLite format 3\0") => {
            check(application, version)
        }
        _ => Err(SchemaError::Foreign("a file of another kind")),
    }
}

/// The length of the file that a header describes, in bytes; `None` if it is no header.
pub(crate) fn length(header: &[u8]) -> Option<u64> {
    let page_size = u16::from_be_bytes(*header.get(16..18)?.first_chunk()?);
    // 1 stands for 65,536, which two bytes cannot hold.
    let page_size = if page_size == 1 { 1 << 16 } else { u64::from(page_size) };
    let pages = u32::from_be_bytes(*header.get(28..32)?.first_chunk()?);
    Some(page_size * u64::from(pages))
}

/// Creates the schema in one transaction if the database is empty, and checks its version if not.
/// Several processes may do so at once. Answers whether this one created it.
///
/// After an error, `connection` must not be used any more.
pub(crate) fn create_or_check(connection: &mut Connection) -> Result<bool, SchemaError> {
    if !is_empty(connection)? {
        return Ok(false);
    }
    let transaction = connection.transaction_with_behavior(TransactionBehavior::Immediate)?;
    // Asked again under the write lock: another process may have created it meanwhile.
    if !is_empty(&transaction)? {
        return Ok(false);
    }
    transaction.execute_batch(SCHEMA)?;
    transaction.pragma_update(None, "application_id", APPLICATION_ID)?;
    transaction.pragma_update(None, "user_version", VERSION)?;
    transaction.commit()?;
    Ok(true)
}

/// Checks that the database is a store of this version.
pub(crate) fn check_version(connection: &Connection) -> Result<(), SchemaError> {
    if is_empty(connection)? { Err(SchemaError::Foreign("an empty database")) } else { Ok(()) }
}

/// A new store in memory, to compare with.
pub(crate) fn in_memory() -> rusqlite::Result<Connection> {
    let connection = Connection::open_in_memory()?;
    connection.execute_batch(SCHEMA)?;
    Ok(connection)
}

/// The same while it is being moved.
pub(crate) fn in_a_move() -> rusqlite::Result<Connection> {
    let connection = in_memory()?;
    connection.execute_batch(OF_A_MOVE)?;
    Ok(connection)
}

/// Whether the database is empty. One statement, so that all of it is from one snapshot.
fn is_empty(connection: &Connection) -> Result<bool, SchemaError> {
    let sql = "SELECT (SELECT count(*) FROM sqlite_schema), \
                      (SELECT application_id FROM pragma_application_id), \
                      (SELECT user_version FROM pragma_user_version)";
    let (objects, application, version) = connection
        .query_row(sql, [], |row| Ok((row.get::<_, i64>(0)?, row.get(1)?, row.get(2)?)))?;
    if (objects, application, version) == (0, 0, 0) {
        return Ok(true);
    }
    check(application, version).map(|()| false)
}

fn check(application: i32, version: i32) -> Result<(), SchemaError> {
    match (application, version) {
        (APPLICATION_ID, VERSION) => Ok(()),
        (APPLICATION_ID, actual) => Err(SchemaError::Unsupported { actual }),
        _ => Err(SchemaError::Foreign("a SQLite database of another application")),
    }
}
