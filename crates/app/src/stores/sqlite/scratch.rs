//! Throw-away stores: each in a file of its own, in one new directory.

use std::{
    fs::{self, DirBuilder},
    io,
    os::unix::fs::DirBuilderExt as _,
    path::{Path, PathBuf},
    sync::Arc,
};

use async_trait::async_trait;
use petstore_conformance::{Capability, Harness, ScratchStore, Store};
use petstore_sqlite::{SqliteConfig, SqliteStore, Synchronous};

use crate::driver::Problem;

/// A new directory for its owner alone, removed with all that is in it.
struct Directory(PathBuf);

impl Directory {
    fn within(parent: &Path) -> io::Result<Self> {
        let random = getrandom::u64().map_err(io::Error::other)?;
        let path = parent.join(format!("petstore-conformance-{random:016x}"));
        DirBuilder::new().mode(0o700).create(&path)?;
        Ok(Self(path))
    }
}

impl Drop for Directory {
    fn drop(&mut self) {
        // If it cannot be removed, its name says what it was.
        let _ = fs::remove_dir_all(&self.0);
    }
}

/// A directory of throw-away stores.
pub(super) struct ScratchDirectory {
    directory: Directory,
    synchronous: Synchronous,
}

impl ScratchDirectory {
    /// Beside the file of `config`, so on the same disk; with its settings.
    pub(super) fn beside(config: &SqliteConfig) -> Result<Self, String> {
        let parent = config.path.parent().filter(|parent| !parent.as_os_str().is_empty());
        let parent = parent.unwrap_or(Path::new("."));
        let failed = |error| format!("cannot make a directory in {}: {error}", parent.display());
        let directory = Directory::within(parent).map_err(failed)?;
        Ok(Self { directory, synchronous: config.synchronous })
    }
}

#[async_trait]
impl Harness for ScratchDirectory {
    async fn fresh(&self) -> Result<Box<dyn ScratchStore>, Problem> {
        let directory = Directory::within(&self.directory.0)?;
        let path = directory.0.join("petstore.db");
        let config = SqliteConfig { path, synchronous: self.synchronous };
        Ok(Box::new(ScratchFile { config, _directory: directory }))
    }

    fn unsupported(&self, capability: Capability) -> Option<&'static str> {
        (capability == Capability::Outage).then_some("this command takes no store out of reach")
    }
}

struct ScratchFile {
    config: SqliteConfig,
    /// Removed with this value.
    _directory: Directory,
}

#[async_trait]
impl ScratchStore for ScratchFile {
    async fn open(&self) -> Result<Store, Problem> {
        let store = Arc::new(SqliteStore::open(&self.config)?);
        Ok(Store::with_archive(store.clone()).with_relocation(store))
    }
}

#[cfg(test)]
mod tests {
    use std::fs;

    use petstore_conformance::Harness as _;
    use petstore_sqlite::{SqliteConfig, Synchronous};

    use super::ScratchDirectory;

    fn config(path: impl Into<std::path::PathBuf>) -> SqliteConfig {
        SqliteConfig { path: path.into(), synchronous: Synchronous::Normal }
    }

    #[tokio::test]
    async fn a_throw_away_store_lies_beside_the_path_and_nothing_is_left() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("petstore.db");
        fs::write(&path, "not to be touched").unwrap();
        let scratch = ScratchDirectory::beside(&config(&path)).unwrap();
        assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 2);
        let place = scratch.fresh().await.unwrap();
        drop(place.open().await.unwrap());
        drop((place, scratch));
        assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 1);
        assert_eq!(fs::read_to_string(&path).unwrap(), "not to be touched");
    }

    #[test]
    fn a_directory_that_cannot_be_made_is_named() {
        let refusal = ScratchDirectory::beside(&config("/nowhere/at/all.db")).map(drop);
        let refusal = refusal.unwrap_err();
        assert!(refusal.starts_with("cannot make a directory in /nowhere/at: "), "{refusal}");
    }
}
