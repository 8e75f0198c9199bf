//! Stores to test on. The one place that says which kinds there are.

use std::{fs, path::PathBuf};

use petstore_testing::{Database, postgres_or_skip};
use tempfile::TempDir;

use super::{
    KIND,
    command::{Finished, petstore},
};

/// The kinds of store. Each run of the suite is about one.
#[derive(Clone, Copy, PartialEq, Eq)]
#[expect(dead_code, reason = "a run is about one of them")]
pub(crate) enum Kind {
    Sqlite,
    Memory,
    Postgres,
}

/// A store, and a folder of its own.
pub(crate) struct Store {
    folder: TempDir,
    pub(crate) url: String,
    /// Of a store on PostgreSQL; it is dropped with the value.
    _database: Option<Database>,
}

impl Store {
    /// A new and empty store of the kind that this run is about.
    pub(crate) fn fresh() -> Self {
        match KIND {
            Kind::Sqlite => Self::sqlite(),
            Kind::Memory => Self::at("memory:"),
            // Without PostgreSQL the skip has been told, or has failed the test.
            Kind::Postgres => Self::postgres().unwrap_or_else(Self::sqlite),
        }
    }

    /// The same, but one that outlives its process: a file in place of memory.
    pub(crate) fn lasting() -> Self {
        match KIND {
            Kind::Memory => Self::sqlite(),
            Kind::Sqlite | Kind::Postgres => Self::fresh(),
        }
    }

    /// An empty database of PostgreSQL, if there is PostgreSQL.
    pub(crate) fn postgres() -> Option<Self> {
        let database = postgres_or_skip("the service on PostgreSQL")?;
        let url = database.url.clone();
        Some(Self { _database: Some(database), ..Self::at(&url) })
    }

    /// A SQLite file that does not exist yet.
    pub(crate) fn sqlite() -> Self {
        let folder = tempfile::tempdir().unwrap();
        let url = format!("sqlite:{}", folder.path().join("petstore.db").display());
        Self { folder, url, _database: None }
    }

    pub(crate) fn at(url: &str) -> Self {
        Self { folder: tempfile::tempdir().unwrap(), url: url.to_owned(), _database: None }
    }

    /// The folder, which holds a SQLite store and nothing else.
    pub(crate) fn folder(&self) -> PathBuf {
        self.folder.path().to_owned()
    }

    /// The SQLite file.
    pub(crate) fn file(&self) -> PathBuf {
        self.folder.path().join("petstore.db")
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
