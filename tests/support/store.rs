//! Stores for tests. [`Kind`] lists the kinds of store.

use std::{
    fs,
    path::{Path, PathBuf},
    sync::{
        OnceLock,
        atomic::{AtomicU32, Ordering},
    },
    time::Duration,
};

use base64::{Engine as _, engine::general_purpose::STANDARD};
use petstore_testing::{Database, Etcd};
use rusqlite::{Connection, OpenFlags};
use serde_json::{Value, json};
use tempfile::TempDir;

use super::{
    command::{Finished, petstore},
    wait,
};

/// The kinds of store.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Kind {
    Sqlite,
    Postgres,
    Etcd,
    Memory,
}

impl Kind {
    /// Returns the number of animals in a transaction of an import.
    pub(crate) fn batch(self) -> usize {
        if self == Self::Etcd { 128 } else { 10_000 }
    }
}

/// Makes a test of each function for each kind of store in a list, or for each pair of kinds. The function takes the
/// kind or the pair. Its attributes go to each test: `on_stores! { lasting: one, #[needs(time)] another }`.
macro_rules! on_stores {
    // Stores that outlive a process, and that several processes can open.
    (lasting: $($tests:tt)+) => {
        $crate::support::store::on_stores! { @all
            [(on_sqlite Sqlite) (on_postgres Postgres, postgres) (on_etcd Etcd, etcd)]
            $($tests)+
        }
    };
    // Stores whose rows can be changed by SQL.
    (sql: $($tests:tt)+) => {
        $crate::support::store::on_stores! { @all
            [(on_sqlite Sqlite) (on_postgres Postgres, postgres)]
            $($tests)+
        }
    };
    // A ring of the lasting kinds, so that each is a source and a target. Users also move between stores of one kind.
    (pairs: $($tests:tt)+) => {
        $crate::support::store::on_stores! { @all
            [
                (from_sqlite_to_sqlite Sqlite Sqlite)
                (from_postgres_to_postgres Postgres Postgres, postgres, time)
                (from_sqlite_to_postgres Sqlite Postgres, postgres)
                (from_postgres_to_etcd Postgres Etcd, postgres, etcd, time)
                (from_etcd_to_sqlite Etcd Sqlite, etcd)
            ]
            $($tests)+
        }
    };
    (@all $kinds:tt $($(#[$attribute:meta])* $test:ident),+ $(,)?) => {$(
        mod $test {
            $crate::support::store::on_stores! { @each $kinds [$(#[$attribute])*] $test }
        }
    )+};
    (@each [$($kind:tt)+] $attributes:tt $test:ident) => {$(
        $crate::support::store::on_stores! { @one $kind $attributes $test }
    )+};
    (@one ($name:ident $($kind:ident)+ $(, $need:ident)*) [$($attribute:tt)*] $test:ident) => {
        $($attribute)*
        #[petstore_testing::needs($($need),*)]
        #[test]
        fn $name() {
            super::$test($crate::support::store::on_stores! { @value $($kind)+ });
        }
    };
    (@value $kind:ident) => { $crate::support::store::Kind::$kind };
    (@value $from:ident $to:ident) => {
        [$crate::support::store::Kind::$from, $crate::support::store::Kind::$to]
    };
}
pub(crate) use on_stores;

/// A store, and a folder of its own.
pub(crate) struct Store {
    folder: TempDir,
    pub(crate) url: String,
    /// The database of a store on PostgreSQL. Dropping the value drops the database.
    database: Option<Database>,
    /// The prefix of a store on etcd.
    prefix: Option<Prefix>,
}

/// A prefix of keys on the etcd node that all tests share.
struct Prefix(String);

/// Returns the etcd node that all tests of this process share.
fn etcd() -> &'static Etcd {
    static SHARED: OnceLock<Etcd> = OnceLock::new();
    SHARED.get_or_init(|| Etcd::start(1).unwrap())
}

impl Prefix {
    /// Returns a prefix that no other store has.
    fn new() -> Self {
        static NUMBER: AtomicU32 = AtomicU32::new(0);
        Self(format!("zoo-{}", NUMBER.fetch_add(1, Ordering::Relaxed)))
    }

    /// Counts the entries of etcd whose keys begin with the prefix and `folder`.
    fn count(&self, folder: &str) -> usize {
        let range = [format!("{}/{folder}", self.0), format!("{}/{folder}~", self.0)];
        let [key, end] = range.map(|key| STANDARD.encode(key));
        let asked = json!({"key": key, "range_end": end, "count_only": true});
        let answer = Self::ask("range", &asked);
        answer["count"].as_str().map_or(0, |count| count.parse().unwrap())
    }

    /// Returns the phase in the head of the store; `None` without a head.
    fn phase(&self) -> Option<String> {
        let key = STANDARD.encode(format!("{}/store", self.0));
        let answer = Self::ask("range", &json!({"key": key}));
        let head = STANDARD.decode(answer["kvs"][0]["value"].as_str()?).unwrap();
        let head: Value = serde_json::from_slice(&head).unwrap();
        Some(head["phase"].as_str().unwrap().to_owned())
    }

    /// Sends a request to etcd, as `etcdctl` does.
    fn ask(call: &str, question: &Value) -> Value {
        let answer = etcd().post(0, &format!("/v3/kv/{call}"), &question.to_string());
        serde_json::from_str(&answer.unwrap()).unwrap()
    }

    /// Returns etcd's key of a row, in base64 for its JSON gateway.
    fn row(&self, folder: &str, id: i64) -> String {
        STANDARD.encode(format!("{}/{folder}/{:016x}", self.0, id.cast_unsigned() ^ (1 << 63)))
    }

    fn delete(&self, folder: &str, id: i64) {
        let answer = Self::ask("deleterange", &json!({"key": self.row(folder, id)}));
        assert_eq!(answer["deleted"], "1", "{folder} {id}: {answer}");
    }

    /// Replaces a text in the value of an animal.
    fn rewrite_pet(&self, id: i64, from: &str, to: &str) {
        let key = self.row("pets", id);
        let answer = Self::ask("range", &json!({"key": &key}));
        let value = answer["kvs"][0]["value"].as_str().unwrap();
        let value = String::from_utf8(STANDARD.decode(value).unwrap()).unwrap();
        assert!(value.contains(from), "{value}");
        let value = STANDARD.encode(value.replace(from, to));
        Self::ask("put", &json!({"key": key, "value": value}));
    }
}

impl Store {
    /// Returns a place of this kind for a store that is not made yet.
    pub(crate) fn new(kind: Kind) -> Self {
        match kind {
            Kind::Sqlite => Self::sqlite(),
            Kind::Memory => Self::memory(),
            Kind::Postgres => Self::postgres(),
            Kind::Etcd => Self::etcd(),
        }
    }

    /// Returns a store that is not made yet, in a new PostgreSQL database. The test must have `#[needs(postgres)]`.
    pub(crate) fn postgres() -> Self {
        let database = Database::create().unwrap();
        let url = database.url.clone();
        Self { database: Some(database), ..Self::at(&url) }
    }

    /// Returns a store that is not made yet, on a new prefix of etcd. The test must have `#[needs(etcd)]`.
    pub(crate) fn etcd() -> Self {
        let prefix = Prefix::new();
        let url = format!("etcd://{}/{}", etcd().endpoints(), prefix.0);
        Self { prefix: Some(prefix), ..Self::at(&url) }
    }

    /// Gives calls of PostgreSQL and etcd a minute, for tests under load: on a busy machine a call may take long.
    pub(crate) fn patient(mut self) -> Self {
        let parameters = match (&self.database, &self.prefix) {
            (Some(_), _) => "call_timeout=60s&statement_timeout=60s",
            (_, Some(_)) => "call_timeout=60s",
            (None, None) => return self,
        };
        let separator = if self.url.contains('?') { '&' } else { '?' };
        self.url.push(separator);
        self.url.push_str(parameters);
        self
    }

    /// Returns a store in memory, which ends with its process.
    pub(crate) fn memory() -> Self {
        Self::at("memory:")
    }

    /// Returns a store on a SQLite file that does not exist yet.
    pub(crate) fn sqlite() -> Self {
        let store = Self::at("");
        Self { url: format!("sqlite:{}", store.file().display()), ..store }
    }

    /// Returns the store at `url`.
    pub(crate) fn at(url: &str) -> Self {
        let folder = tempfile::tempdir().unwrap();
        Self { folder, url: url.to_owned(), database: None, prefix: None }
    }

    /// Returns the folder of the SQLite file and of the files of [`write`](Self::write).
    pub(crate) fn folder(&self) -> PathBuf {
        self.folder.path().to_owned()
    }

    /// Returns the path of the SQLite file.
    pub(crate) fn file(&self) -> PathBuf {
        self.folder.path().join("petstore.db")
    }

    /// Writes a file into the folder. Returns the path of the file.
    pub(crate) fn write(&self, name: &str, text: &str) -> String {
        let path = self.folder.path().join(name);
        fs::write(&path, text).unwrap();
        path.to_str().unwrap().to_owned()
    }

    /// Changes rows by SQL, without the checks of SQLite's schema.
    pub(crate) fn damage(&self, sql: &str) {
        let unchecked = "PRAGMA ignore_check_constraints = true;";
        let first = if self.database.is_none() { unchecked } else { "" };
        self.try_sql(&format!("{first}{sql}")).unwrap();
    }

    /// Changes rows by SQL, with all checks, as an operator does. Returns the message of a refusal.
    pub(crate) fn try_sql(&self, sql: &str) -> Result<(), String> {
        match &self.database {
            Some(database) => database.sql(sql).map(drop),
            None => self.connection().execute_batch(sql).map_err(|error| error.to_string()),
        }
    }

    /// Opens the SQLite file beside a service.
    pub(crate) fn connection(&self) -> Connection {
        let file = Connection::open(self.file()).unwrap();
        file.busy_timeout(wait::LIMIT).unwrap();
        file
    }

    /// Puts an entry into a store on etcd. `key` is without the prefix.
    pub(crate) fn put(&self, key: &str, value: &str) {
        let prefix = &self.prefix.as_ref().expect("a store on etcd").0;
        let [key, value] = [&format!("{prefix}/{key}"), value].map(|text| STANDARD.encode(text));
        Prefix::ask("put", &json!({"key": key, "value": value}));
    }

    /// Deletes an animal that has no status, and so no index entry, as an operator does with SQL or `etcdctl`.
    pub(crate) fn delete_pet(&self, id: i64) {
        match &self.prefix {
            Some(prefix) => prefix.delete("pets", id),
            None => self.try_sql(&format!("DELETE FROM pet WHERE id = {id}")).unwrap(),
        }
    }

    /// Renames an animal that has no status, as an operator does.
    pub(crate) fn rename_pet(&self, id: i64, from: &str, to: &str) {
        match &self.prefix {
            Some(prefix) => prefix.rewrite_pet(id, from, to),
            None => {
                self.try_sql(&format!("UPDATE pet SET name = '{to}' WHERE id = {id}")).unwrap();
            }
        }
    }

    /// Deletes an API key, as an operator does.
    pub(crate) fn delete_key(&self, id: i64) {
        match &self.prefix {
            Some(prefix) => prefix.delete("keys", id),
            None => self.try_sql(&format!("DELETE FROM api_key WHERE id = {id}")).unwrap(),
        }
    }

    /// Counts the animals, without the service.
    pub(crate) fn pets(&self) -> usize {
        self.try_pets().unwrap()
    }

    /// Counts the animals like [`pets`](Self::pets). Returns `None` if they cannot be read: SQLite refuses reads while
    /// a stopped process is recovering the write-ahead log.
    pub(crate) fn try_pets(&self) -> Option<usize> {
        match &self.prefix {
            Some(prefix) => Some(prefix.count("pets/")),
            None => self.text("SELECT count(*) || '' FROM pet", wait::LIMIT)?.parse().ok(),
        }
    }

    /// Returns the text that a query finds in a SQL store; `None` until the store is made, or if the file is locked for
    /// longer than `busy_timeout`.
    fn text(&self, query: &str, busy_timeout: Duration) -> Option<String> {
        if let Some(database) = &self.database {
            return Some(database.sql(query).ok()?.trim().to_owned());
        }
        let flags = OpenFlags::SQLITE_OPEN_READ_WRITE;
        let file = Connection::open_with_flags(self.file(), flags).ok()?;
        file.busy_timeout(busy_timeout).unwrap();
        file.query_row(query, [], |row| row.get(0)).ok()
    }

    /// Returns the phase of the store: `open`, `filling` or `sealed`; `None` until the store is made.
    pub(crate) fn state(&self) -> Option<String> {
        match &self.prefix {
            Some(prefix) => prefix.phase(),
            // The wait is short, because a mover that was stopped may hold the lock.
            None => self.text("SELECT state FROM petstore_state", Duration::from_secs(1)),
        }
    }

    /// Returns whether any part of the store exists.
    pub(crate) fn is_made(&self) -> bool {
        const RELATIONS: &str =
            "SELECT count(*) FROM pg_class WHERE relnamespace = 'public'::regnamespace";
        if let Some(prefix) = &self.prefix {
            return prefix.count("") > 0;
        }
        match &self.database {
            Some(database) => database.sql(RELATIONS).unwrap().trim() != "0",
            None => fs::read_dir(self.folder.path()).unwrap().next().is_some(),
        }
    }

    /// Returns the bytes of all files in the store's folder: none for a store on PostgreSQL or etcd.
    pub(crate) fn bytes(&self) -> Vec<u8> {
        let files = fs::read_dir(self.folder.path()).unwrap();
        files.flat_map(|file| fs::read(file.unwrap().path()).unwrap()).collect()
    }

    /// Runs `petstore keys …` on this store.
    pub(crate) fn keys(&self, arguments: &[&str]) -> Finished {
        petstore(&[&["keys"], arguments, &["--store", &self.url]].concat()).finish()
    }

    /// Creates an API key.
    #[track_caller]
    pub(crate) fn new_key(&self, name: &str) -> String {
        self.keys(&["create", name]).succeeds().trim_end().to_owned()
    }
}

/// Asserts that SQLite finds no fault in a file.
#[track_caller]
pub(crate) fn is_sound(file: &Path) {
    let connection = Connection::open(file).unwrap();
    let found: String =
        connection.query_row("PRAGMA integrity_check", [], |row| row.get(0)).unwrap();
    assert_eq!(found, "ok");
}
