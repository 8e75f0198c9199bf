//! Stores to test on. The one place that says which kinds there are.

use std::{fs, path::PathBuf};

use tempfile::TempDir;

use super::command::{Finished, petstore};

/// A store, and a folder of its own.
pub(crate) struct Store {
    folder: TempDir,
    pub(crate) url: String,
}

/// Where the tests on every store get theirs: words `sqlite` and `memory`, or URLs of stores that
/// may already hold animals, separated by commas.
const KINDS: &str = "PETSTORE_TEST_STORES";

impl Store {
    /// One store of each kind to be tested.
    pub(crate) fn of_each_kind() -> Vec<Self> {
        let kinds = std::env::var(KINDS).unwrap_or_else(|_| "sqlite,memory".to_owned());
        kinds.split(',').map(Self::of_kind).collect()
    }

    fn of_kind(kind: &str) -> Self {
        match kind {
            "sqlite" => Self::sqlite(),
            "memory" => Self::at("memory:"),
            url => Self::at(url),
        }
    }

    /// A SQLite file that does not exist yet.
    pub(crate) fn sqlite() -> Self {
        let folder = tempfile::tempdir().unwrap();
        let url = format!("sqlite:{}", folder.path().join("petstore.db").display());
        Self { folder, url }
    }

    pub(crate) fn at(url: &str) -> Self {
        Self { folder: tempfile::tempdir().unwrap(), url: url.to_owned() }
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
