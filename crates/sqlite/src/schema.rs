//! The schema versions, and the checks that a file is a store. The documentation of `petstore-storage` explains
//! versions and steps.

use std::{fs, path::Path};

use petstore_storage::{SchemaError, Step};
use rusqlite::{Connection, ErrorCode, TransactionBehavior, config::DbConfig};

use crate::{connection, error::Reason};

/// The `PRAGMA application_id` of a petstore store: `pst0` in ASCII.
pub(crate) const APPLICATION_ID: i64 = 0x7073_7430;

/// The oldest schema version that can be upgraded.
pub(crate) const FIRST: i64 = STEPS[0].version;

/// The schema version of this release.
pub(crate) const VERSION: i64 = STEPS[STEPS.len() - 1].version;

/// The steps from an empty database to the newest version.
pub(crate) const STEPS: [Step; 4] = [
    Step::new(7, 7, "the tables of petstore 1.0.0", include_str!("schema/7.sql")),
    Step::new(
        8,
        7,
        "refuse names that the service refuses; keep the rights of API keys",
        include_str!("schema/8.sql"),
    )
    .unless(include_str!("schema/8.offending.sql")),
    Step::new(
        9,
        7,
        "record the revision of the API keys; hand a store over",
        include_str!("schema/9.sql"),
    )
    .unless(include_str!("schema/9.offending.sql")),
    Step::new(
        10,
        10,
        "keep idempotency records in the order of their animals",
        include_str!("schema/10.sql"),
    )
    .since("2.0.0"),
];

const ANOTHER_KIND: &str = "a file of another kind";

/// Selects the identity from `catalogue`, a table in version 9 and a view since version 10.
const IDENTITY: &str = "SELECT hex(identity) FROM catalogue WHERE only = 1";

/// Selects the values that a change of the identity copies to `renamed_from`.
const RENAMABLE: &str = "SELECT hex(identity) || hex(version) || hex(key_revision) \
     FROM petstore_state WHERE only = 1";

const RENAMED_FROM: &str = "SELECT renamed_from FROM petstore_state WHERE only = 1";

/// Selects the oldest release that can use the store, as a newer release has recorded it.
const OLDEST_RELEASE: &str = "SELECT oldest_release FROM petstore_schema WHERE only = 1";

/// Applies a step in the transaction of `connection`.
pub(crate) fn apply(step: &Step, connection: &Connection) -> rusqlite::Result<()> {
    connection.execute_batch(step.sql)?;
    if step.version > FIRST {
        let record = "INSERT INTO petstore_schema (only, version, oldest_release) VALUES (1, ?1, ?2) \
             ON CONFLICT (only) DO UPDATE SET version = excluded.version, \
             oldest_release = excluded.oldest_release";
        connection.execute(record, (step.version, step.oldest_release))?;
    }
    connection.pragma_update(None, "user_version", step.oldest)
}

/// Fails if a row of the store prevents one of the steps.
pub(crate) fn refuse_offending(connection: &Connection, steps: &[Step]) -> Result<(), Reason> {
    for step in steps {
        let Some(sql) = step.offending else { continue };
        let mut statement = connection.prepare(sql)?;
        let rows = statement.query_map([], |row| row.get(0))?;
        step.require_none(&rows.collect::<Result<Vec<_>, _>>()?)?;
    }
    Ok(())
}

/// Checks the header of a file before the file is opened for use, so that a foreign file stays unchanged. An empty file
/// is a new store.
///
/// SQLite reads the file, because it closes its descriptors safely. If this process closed a descriptor itself, the
/// locks of all its connections would be released (<https://sqlite.org/howtocorrupt.html>, section 2.2).
pub(crate) fn check_file(path: &Path) -> Result<(), Reason> {
    match fs::metadata(path).map_or(0, |file| file.len()) {
        0 => return Ok(()),
        // SQLite treats a file of one byte as empty.
        1 => return Err(Reason::Foreign(ANOTHER_KIND)),
        _ => {}
    }
    let connection = connection::open_unchanging(path)?;
    // While another process extends the file, the header counts pages that are still missing. SQLite then reports
    // damage unless `writable_schema` is on. A defensive connection forbids that setting.
    connection.set_db_config(DbConfig::SQLITE_DBCONFIG_DEFENSIVE, false)?;
    connection.pragma_update(None, "writable_schema", true)?;
    let number = |name| connection.pragma_query_value(None, name, |row| row.get(0));
    match number("application_id") {
        Err(error) if error.sqlite_error_code() == Some(ErrorCode::NotADatabase) => {
            Err(Reason::Foreign(ANOTHER_KIND))
        }
        application => check(&connection, application?, number("user_version")?),
    }
}

/// Refuses the log of another store, which lies beside the file by mistake. If an identity cannot be read, the log is
/// accepted, and the opening that follows reports the cause.
///
/// After a crash, the log alone may contain a change of the identity. Such a log has the former values of the file in
/// `renamed_from`.
pub(crate) fn check_log(path: &Path) -> Result<(), Reason> {
    let Some(log) = connection::log(path) else { return Ok(()) };
    let (Ok(file), Ok(logged)) = (connection::open_unchanging(path), connection::open_logged(path))
    else {
        return Ok(());
    };
    let text = |connection: &Connection, sql| -> Option<String> {
        connection.query_row(sql, [], |row| row.get(0)).ok()
    };
    let identities = text(&file, IDENTITY).zip(text(&logged, IDENTITY));
    let is_foreign = identities.is_some_and(|(of_file, of_log)| of_file != of_log)
        && text(&logged, RENAMED_FROM).is_none_or(|from| Some(from) != text(&file, RENAMABLE));
    if !is_foreign {
        return Ok(());
    }
    Err(Reason::Lasting(format!(
        "{} beside it is the log of another store, with another identity; move that log away, to the file that \
         it belongs to",
        log.display()
    )))
}

/// Returns whether the file has all the pages that its header counts. If pages are missing, SQLite reports damage
/// instead of the application id.
pub(crate) fn is_whole(path: &Path) -> bool {
    let application = connection::open_unchanging(path).and_then(|connection| {
        connection.pragma_query_value(None, "application_id", |row| row.get(0))
    });
    application == Ok(APPLICATION_ID)
}

/// Creates the newest schema in one transaction if the database is empty; otherwise checks its version. Returns whether
/// this process created the schema. Several processes may call this at the same time.
///
/// After an error, `connection` must not be used again.
pub(crate) fn create_or_check(connection: &mut Connection) -> Result<bool, Reason> {
    let mut found = version(connection)?;
    if found.is_none() {
        let transaction = connection.transaction_with_behavior(TransactionBehavior::Immediate)?;
        // Checked again under the write lock, because another process may have created the schema.
        found = version(&transaction)?;
        if found.is_none() {
            transaction.pragma_update(None, "application_id", APPLICATION_ID)?;
            STEPS.iter().try_for_each(|step| apply(step, &transaction))?;
            transaction.commit()?;
            return Ok(true);
        }
    }
    require_current(found).map(|()| false)
}

/// Requires the schema version of this release or a newer schema version. `found` is `None` for an empty database.
pub(crate) fn require_current(found: Option<i64>) -> Result<(), Reason> {
    match found {
        None => Err(Reason::Foreign("an empty database")),
        Some(actual) if actual < VERSION => {
            Err(SchemaError::Older { actual, known: VERSION }.into())
        }
        Some(_) => Ok(()),
    }
}

/// Returns the schema version; `None` if the database is empty.
pub(crate) fn version(connection: &Connection) -> Result<Option<i64>, Reason> {
    // The transaction makes one snapshot of all reads.
    let snapshot = connection.is_autocommit().then(|| connection.unchecked_transaction());
    let _snapshot = snapshot.transpose()?;
    let sql = "SELECT (SELECT count(*) FROM sqlite_schema), \
                      (SELECT application_id FROM pragma_application_id), \
                      (SELECT user_version FROM pragma_user_version)";
    let (objects, application, oldest): (i64, _, _) =
        connection.query_row(sql, [], |row| row.try_into())?;
    if (objects, application, oldest) == (0, 0, 0) {
        return Ok(None);
    }
    check(connection, application, oldest)?;
    Ok(Some(recorded_version(connection)?))
}

/// Returns the schema version that a store records. The first version has no table for it.
pub(crate) fn recorded_version(connection: &Connection) -> rusqlite::Result<i64> {
    let has_table = "SELECT EXISTS (SELECT 1 FROM sqlite_schema WHERE name = 'petstore_schema')";
    if !connection.query_row(has_table, [], |row| row.get(0))? {
        return Ok(FIRST);
    }
    let sql = "SELECT version FROM petstore_schema WHERE only = 1";
    connection.query_row(sql, [], |row| row.get(0))
}

/// Makes an empty store in memory, to compare schemas.
pub(crate) fn in_memory() -> rusqlite::Result<Connection> {
    let connection = Connection::open_in_memory()?;
    STEPS.iter().try_for_each(|step| apply(step, &connection))?;
    Ok(connection)
}

/// Fails if the file is of another application, or if this release cannot use its schema.
fn check(connection: &Connection, application: i64, oldest: i64) -> Result<(), Reason> {
    if application != APPLICATION_ID {
        return Err(Reason::Foreign("a SQLite database of another application"));
    }
    let release = || connection.query_row(OLDEST_RELEASE, [], |row| row.get(0)).ok();
    Ok(petstore_storage::require_known(&STEPS, oldest, release)?)
}
