//! The schema's versions, and how a file is recognised as a store.
//!
//! A new store is made by the same steps that upgrade an old one (`upgrade.rs`), so both are alike. What
//! a released step does never changes; another change of the schema is another step.
//!
//! A file says two versions: its own, and the oldest that it can be used as. A release opens a store
//! whose oldest version it knows, so it goes on with a store that a newer release has upgraded, as long
//! as no step of that upgrade forbids it. A step that does forbid it must change what the older
//! release's statements use, such as the name of a table: such a process may be opening the file at that
//! very moment.

use std::{fs, path::Path};

use rusqlite::{Connection, ErrorCode, TransactionBehavior, config::DbConfig};

use crate::{connection, error::open::Reason};

/// Marks a SQLite file as a petstore store (`PRAGMA application_id`): `pst0` in ASCII.
pub(crate) const APPLICATION_ID: i32 = 0x7073_7430;

/// The oldest version of the schema that can be upgraded.
pub(crate) const FIRST: i32 = STEPS[0].version;

/// The version of the schema that this release makes and upgrades to.
pub(crate) const VERSION: i32 = STEPS[STEPS.len() - 1].version;

/// From nothing to the newest version.
pub(crate) const STEPS: [Step; 3] = [
    Step::new(7, "the tables of petstore 1.0.0", include_str!("schema/7.sql")),
    Step {
        offending: Some(include_str!("schema/8.offending.sql")),
        ..Step::new(
            8,
            "refuse names that the service refuses; keep the rights of API keys",
            include_str!("schema/8.sql"),
        )
    },
    Step {
        offending: Some(include_str!("schema/9.offending.sql")),
        ..Step::new(
            9,
            "tell one state of the API keys from another; hand a store over",
            include_str!("schema/9.sql"),
        )
    },
];

/// From one version of the schema to the next. It runs in one transaction.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Step {
    /// The version after it.
    pub(crate) version: i32,
    /// What it changes, in a few words.
    pub(crate) summary: &'static str,
    pub(crate) sql: &'static str,
    /// The oldest version whose releases can use the store after it.
    pub(crate) oldest: i32,
    /// The first release that knows that version.
    pub(crate) oldest_release: &'static str,
    /// Selects a text for each row that a new constraint would refuse, at most ten. It is asked before the
    /// first step of an upgrade, so it is about tables that every older version has.
    pub(crate) offending: Option<&'static str>,
}

const ANOTHER_KIND: &str = "a file of another kind";

const OLDEST_RELEASE: &str = "SELECT oldest_release FROM petstore_schema WHERE only = 1";

impl Step {
    /// Returns a step beside which every release goes on.
    const fn new(version: i32, summary: &'static str, sql: &'static str) -> Self {
        Self { version, summary, sql, oldest: 7, oldest_release: "1.0.0", offending: None }
    }

    /// Applies it in the transaction of `connection`.
    pub(crate) fn apply(&self, connection: &Connection) -> rusqlite::Result<()> {
        connection.execute_batch(self.sql)?;
        if self.version > FIRST {
            let record = "INSERT INTO petstore_schema (only, version, oldest_release) VALUES (1, ?1, ?2) \
                 ON CONFLICT (only) DO UPDATE SET version = excluded.version, \
                 oldest_release = excluded.oldest_release";
            connection.execute(record, (self.version, self.oldest_release))?;
        }
        connection.pragma_update(None, "user_version", self.oldest)
    }

    /// Names the rows that it would refuse.
    pub(crate) fn offending(&self, connection: &Connection) -> rusqlite::Result<Vec<String>> {
        let Some(sql) = self.offending else { return Ok(Vec::new()) };
        connection.prepare(sql)?.query_map([], |row| row.get(0))?.collect()
    }
}

/// Checks a file before it is opened to be used, so that a foreign one stays as it is. An empty file is a
/// new store.
///
/// The file is read through SQLite, as one that nobody changes: its log and its locks are left alone, and
/// nothing is put beside it. If this process opened and closed the file itself, it would lose the locks of
/// all its connections to it (<https://sqlite.org/howtocorrupt.html>, section 2.2); SQLite sees to that for
/// its own descriptors.
pub(crate) fn check_file(path: &Path) -> Result<(), Reason> {
    match fs::metadata(path).map_or(0, |file| file.len()) {
        0 => return Ok(()),
        // SQLite takes it for an empty file.
        1 => return Err(Reason::Foreign(ANOTHER_KIND)),
        _ => {}
    }
    let connection = connection::open_unchanging(path)?;
    // While another process makes the file longer, its first page counts pages that are not there yet. SQLite
    // takes that for damage, unless the schema may be written, which a defensive connection never allows.
    connection.set_db_config(DbConfig::SQLITE_DBCONFIG_DEFENSIVE, false)?;
    connection.pragma_update(None, "writable_schema", true)?;
    let number = |name| connection.pragma_query_value(None, name, |row| row.get(0));
    match number("application_id") {
        Err(error) if error.sqlite_error_code() == Some(ErrorCode::NotADatabase) => {
            Err(Reason::Foreign(ANOTHER_KIND))
        }
        application => check(application?, number("user_version")?, || oldest_release(path)),
    }
}

/// Whether the file has all the pages that its first one counts.
pub(crate) fn is_whole(path: &Path) -> bool {
    let application = connection::open_unchanging(path).and_then(|connection| {
        connection.pragma_query_value(None, "application_id", |row| row.get::<_, i32>(0))
    });
    application.is_ok_and(|application| application == APPLICATION_ID)
}

/// Creates the newest schema in one transaction if the database is empty, and checks its version if not.
/// Several processes may do so at once. Answers whether this one created it.
///
/// After an error, `connection` must not be used any more.
pub(crate) fn create_or_check(connection: &mut Connection) -> Result<bool, Reason> {
    if version(connection)?.is_none() {
        let transaction = connection.transaction_with_behavior(TransactionBehavior::Immediate)?;
        // Asked again under the write lock: another process may have created it meanwhile.
        if version(&transaction)?.is_none() {
            transaction.pragma_update(None, "application_id", APPLICATION_ID)?;
            STEPS.iter().try_for_each(|step| step.apply(&transaction))?;
            transaction.commit()?;
            return Ok(true);
        }
    }
    require_current(connection).map(|()| false)
}

/// Refuses a database that is no store, or one to be upgraded.
pub(crate) fn require_current(connection: &Connection) -> Result<(), Reason> {
    match version(connection)? {
        None => Err(Reason::Foreign("an empty database")),
        Some(actual) if actual < VERSION => Err(Reason::Older { actual }),
        Some(_) => Ok(()),
    }
}

/// The version of the schema; `None` if the database is empty.
pub(crate) fn version(connection: &Connection) -> Result<Option<i32>, Reason> {
    // A transaction, unless there is one, so that all of it is from one snapshot.
    let snapshot = connection.is_autocommit().then(|| connection.unchecked_transaction());
    let _snapshot = snapshot.transpose()?;
    let sql = "SELECT (SELECT count(*) FROM sqlite_schema), \
                      (SELECT application_id FROM pragma_application_id), \
                      (SELECT user_version FROM pragma_user_version)";
    let (objects, application, oldest) = connection
        .query_row(sql, [], |row| Ok((row.get::<_, i64>(0)?, row.get(1)?, row.get(2)?)))?;
    if (objects, application, oldest) == (0, 0, 0) {
        return Ok(None);
    }
    check(application, oldest, || connection.query_row(OLDEST_RELEASE, [], |row| row.get(0)).ok())?;
    Ok(Some(recorded_version(connection)?))
}

/// The version that a store says itself. Below the second version there is no table for it.
pub(crate) fn recorded_version(connection: &Connection) -> rusqlite::Result<i32> {
    let has_table = "SELECT EXISTS (SELECT 1 FROM sqlite_schema WHERE name = 'petstore_schema')";
    if !connection.query_row(has_table, [], |row| row.get(0))? {
        return Ok(FIRST);
    }
    let sql = "SELECT version FROM petstore_schema WHERE only = 1";
    connection.query_row(sql, [], |row| row.get(0))
}

/// A new store in memory, to compare with.
pub(crate) fn in_memory() -> rusqlite::Result<Connection> {
    let connection = Connection::open_in_memory()?;
    STEPS.iter().try_for_each(|step| step.apply(&connection))?;
    Ok(connection)
}

fn check(
    application: i32,
    oldest: i32,
    oldest_release: impl FnOnce() -> Option<String>,
) -> Result<(), Reason> {
    match oldest {
        _ if application != APPLICATION_ID => {
            Err(Reason::Foreign("a SQLite database of another application"))
        }
        ..FIRST => Err(Reason::TooOld { actual: oldest }),
        FIRST..=VERSION => Ok(()),
        _ => {
            let release = oldest_release().map(|name| format!("{name} or newer"));
            let release = release.unwrap_or_else(|| "of a newer release".to_owned());
            Err(Reason::TooNew { oldest, release })
        }
    }
}

/// What a store of a newer petstore says of the oldest release that can use it.
fn oldest_release(path: &Path) -> Option<String> {
    let connection = connection::open_unchanging(path).ok()?;
    connection.query_row(OLDEST_RELEASE, [], |row| row.get(0)).ok()
}
