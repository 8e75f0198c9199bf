//! Stores to test on. The one place that says which kinds there are.

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
use petstore_testing::{Database, Etcd, postgres_or_skip};
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
    /// How many animals one transaction of an import adds.
    pub(crate) fn batch(self) -> usize {
        if self == Self::Etcd { 128 } else { 10_000 }
    }
}

/// Makes a test of each function for each kind of store of a list, or pair of kinds, which the function takes. The
/// attributes of a function are those of its tests: `on_stores! { lasting: one, #[needs(time)] another }`.
macro_rules! on_stores {
    (every: $($tests:tt)+) => {
        $crate::support::store::on_stores! { @all
            [(on_sqlite Sqlite) (on_postgres Postgres, postgres) (on_etcd Etcd, etcd) (on_memory Memory)]
            $($tests)+
        }
    };
    // They outlive a process, and several processes can open them.
    (lasting: $($tests:tt)+) => {
        $crate::support::store::on_stores! { @all
            [(on_sqlite Sqlite) (on_postgres Postgres, postgres) (on_etcd Etcd, etcd)]
            $($tests)+
        }
    };
    // Their rows can be changed by SQL.
    (sql: $($tests:tt)+) => {
        $crate::support::store::on_stores! { @all
            [(on_sqlite Sqlite) (on_postgres Postgres, postgres)]
            $($tests)+
        }
    };
    // A ring of those that last: each is a source and a target. And the moves within one kind that users make.
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
    /// Of a store on PostgreSQL; it is dropped with the value.
    database: Option<Database>,
    /// Of a store on etcd.
    prefix: Option<Prefix>,
}

/// A prefix on the node that all tests share.
struct Prefix(String);

/// The node of etcd that all tests of this process share.
fn etcd() -> &'static Etcd {
    static SHARED: OnceLock<Etcd> = OnceLock::new();
    SHARED.get_or_init(|| Etcd::start(1).unwrap())
}

impl Prefix {
    /// A prefix that no other store has.
    fn new() -> Self {
        static NUMBER: AtomicU32 = AtomicU32::new(0);
        Self(format!("zoo-{}", NUMBER.fetch_add(1, Ordering::Relaxed)))
    }

    /// How many keys begin with the prefix and `folder`.
    fn count(&self, folder: &str) -> usize {
        let range = [format!("{}/{folder}", self.0), format!("{}/{folder}~", self.0)];
        let [key, end] = range.map(|key| STANDARD.encode(key));
        let asked = json!({"key": key, "range_end": end, "count_only": true});
        let answer = Self::ask("range", &asked);
        answer["count"].as_str().map_or(0, |count| count.parse().unwrap())
    }

    /// The phase in the head of the store; `None` without a head.
    fn phase(&self) -> Option<String> {
        let key = STANDARD.encode(format!("{}/store", self.0));
        let answer = Self::ask("range", &json!({"key": key}));
        let head = STANDARD.decode(answer["kvs"][0]["value"].as_str()?).unwrap();
        let head: Value = serde_json::from_slice(&head).unwrap();
        Some(head["phase"].as_str().unwrap().to_owned())
    }

    /// As `etcdctl` does.
    fn ask(call: &str, question: &Value) -> Value {
        let answer = etcd().post(0, &format!("/v3/kv/{call}"), &question.to_string());
        serde_json::from_str(&answer.unwrap()).unwrap()
    }

    /// The key of the row with this identifier, as the gateway takes it.
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
    /// A new and empty store.
    pub(crate) fn new(kind: Kind) -> Self {
        match kind {
            Kind::Sqlite => Self::sqlite(),
            Kind::Memory => Self::memory(),
            Kind::Postgres => Self::postgres(),
            Kind::Etcd => Self::etcd(),
        }
    }

    /// An empty database of PostgreSQL. The test is `#[needs(postgres)]`.
    pub(crate) fn postgres() -> Self {
        let database = postgres_or_skip("a test of the binary on PostgreSQL").unwrap();
        let url = database.url.clone();
        Self { database: Some(database), ..Self::at(&url) }
    }

    /// A prefix of etcd without keys. The test is `#[needs(etcd)]`.
    pub(crate) fn etcd() -> Self {
        let prefix = Prefix::new();
        let url = format!("etcd://{}/{}", etcd().endpoints(), prefix.0);
        Self { prefix: Some(prefix), ..Self::at(&url) }
    }

    /// A store that ends with the process that opens it.
    pub(crate) fn memory() -> Self {
        Self::at("memory:")
    }

    /// A SQLite file that does not exist yet.
    pub(crate) fn sqlite() -> Self {
        let folder = tempfile::tempdir().unwrap();
        let url = format!("sqlite:{}", folder.path().join("petstore.db").display());
        Self { folder, url, database: None, prefix: None }
    }

    /// The store that a URL names.
    pub(crate) fn at(url: &str) -> Self {
        let folder = tempfile::tempdir().unwrap();
        Self { folder, url: url.to_owned(), database: None, prefix: None }
    }

    /// The folder, which holds a SQLite store and nothing else.
    pub(crate) fn folder(&self) -> PathBuf {
        self.folder.path().to_owned()
    }

    /// The SQLite file.
    pub(crate) fn file(&self) -> PathBuf {
        self.folder.path().join("petstore.db")
    }

    /// Changes the rows of the store behind the service's back, in ways that its checks would refuse.
    pub(crate) fn vandalise(&self, sql: &str) {
        if let Some(database) = &self.database {
            database.sql(sql).unwrap();
            return;
        }
        let file = Connection::open(self.file()).unwrap();
        file.busy_timeout(wait::LIMIT).unwrap();
        file.pragma_update(None, "ignore_check_constraints", true).unwrap();
        file.execute_batch(sql).unwrap();
    }

    /// Changes rows as an operator does, with all checks: what the store says against it.
    pub(crate) fn try_sql(&self, sql: &str) -> Result<(), String> {
        if let Some(database) = &self.database {
            return database.sql(sql).map(drop);
        }
        let file = Connection::open(self.file()).unwrap();
        file.busy_timeout(wait::LIMIT).unwrap();
        file.execute_batch(sql).map_err(|error| error.to_string())
    }

    /// Puts an entry of a store on etcd, by its key without the prefix.
    pub(crate) fn put(&self, key: &str, value: &str) {
        let prefix = &self.prefix.as_ref().expect("a store on etcd").0;
        let [key, value] = [&format!("{prefix}/{key}"), value].map(|text| STANDARD.encode(text));
        Prefix::ask("put", &json!({"key": key, "value": value}));
    }

    /// Deletes an animal that has no status, as an operator does, with SQL or `etcdctl`.
    pub(crate) fn delete_pet(&self, id: i64) {
        match &self.prefix {
            Some(prefix) => prefix.delete("pets", id),
            None => self.try_sql(&format!("DELETE FROM pet WHERE id = {id}")).unwrap(),
        }
    }

    /// Gives an animal without a status another name, in the same way.
    pub(crate) fn rename_pet(&self, id: i64, from: &str, to: &str) {
        match &self.prefix {
            Some(prefix) => prefix.rewrite_pet(id, from, to),
            None => {
                self.try_sql(&format!("UPDATE pet SET name = '{to}' WHERE id = {id}")).unwrap();
            }
        }
    }

    /// Deletes an API key, in the same way.
    pub(crate) fn delete_key(&self, id: i64) {
        match &self.prefix {
            Some(prefix) => prefix.delete("keys", id),
            None => self.try_sql(&format!("DELETE FROM api_key WHERE id = {id}")).unwrap(),
        }
    }

    /// Takes away what a PostgreSQL store refuses; a SQLite file is vandalised without its rules anyway.
    pub(crate) fn drop_rules(&self) {
        if let Some(database) = &self.database {
            database.sql("ALTER TABLE pet DROP CONSTRAINT pet_name").unwrap();
        }
    }

    /// How many animals it has, counted without the service.
    pub(crate) fn pets(&self) -> usize {
        const COUNT: &str = "SELECT count(*) FROM pet";
        if let Some(prefix) = &self.prefix {
            return prefix.count("pets/");
        }
        if let Some(database) = &self.database {
            return database.sql(COUNT).unwrap().trim().parse().unwrap();
        }
        let file = Connection::open(self.file()).unwrap();
        file.busy_timeout(wait::LIMIT).unwrap();
        let count: u32 = file.query_row(COUNT, [], |row| row.get(0)).unwrap();
        count.try_into().unwrap()
    }

    /// The word for the store's phase as the store itself has it: `open`, `filling` or `sealed`. `None` before the store
    /// is made, and while it is being made.
    pub(crate) fn state(&self) -> Option<String> {
        const STATE: &str = "SELECT state FROM petstore_state";
        if let Some(prefix) = &self.prefix {
            return prefix.phase();
        }
        if let Some(database) = &self.database {
            return Some(database.sql(STATE).ok()?.trim().to_owned());
        }
        let flags = OpenFlags::SQLITE_OPEN_READ_WRITE;
        let file = Connection::open_with_flags(self.file(), flags).ok()?;
        file.busy_timeout(Duration::from_secs(1)).unwrap();
        file.query_row(STATE, [], |row| row.get(0)).ok()
    }

    /// Returns whether anything of it is there.
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

    /// Every byte of every file that the store consists of.
    pub(crate) fn bytes(&self) -> Vec<u8> {
        let files = fs::read_dir(self.folder.path()).unwrap();
        files.flat_map(|file| fs::read(file.unwrap().path()).unwrap()).collect()
    }

    /// Runs `petstore keys …` on this store.
    pub(crate) fn keys(&self, arguments: &[&str]) -> Finished {
        petstore(&[&["keys"], arguments, &["--store", &self.url]].concat()).finish()
    }

    /// Makes an API key.
    #[track_caller]
    pub(crate) fn new_key(&self, name: &str) -> String {
        self.keys(&["create", name]).succeeds().trim_end().to_owned()
    }
}

/// Holds that SQLite finds nothing wrong with a file.
#[track_caller]
pub(crate) fn is_sound(file: &Path) {
    let connection = Connection::open(file).unwrap();
    let found: String =
        connection.query_row("PRAGMA integrity_check", [], |row| row.get(0)).unwrap();
    assert_eq!(found, "ok");
}
