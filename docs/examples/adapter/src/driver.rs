//! How petstore's commands know this store: by URLs `file:PATH`.

use std::{fmt, path::PathBuf, sync::Arc};

use async_trait::async_trait;
use petstore::{OpenMode, OpenStore, Problem, StoreDriver, StoreLocation};

use crate::store::FileStore;

/// The stores whose URLs are `file:PATH`.
pub const FILE_STORES: StoreDriver = StoreDriver {
    schemes: &["file"],
    usage: "file:PATH",
    summary: "an append-only file, for one process at a time",
    is_lasting: true,
    parse: |url| Ok(Arc::new(FileLocation { path: path(url)?, archive: true })),
};

/// The same with their archives hidden.
pub const WITHOUT_ARCHIVE: StoreDriver = StoreDriver {
    parse: |url| Ok(Arc::new(FileLocation { path: path(url)?, archive: false })),
    ..FILE_STORES
};

fn path(url: &str) -> Result<PathBuf, Problem> {
    match url.strip_prefix("file:") {
        Some(path) if !path.is_empty() => Ok(path.into()),
        _ => Err("no path is given; use file:PATH, for example file:petstore.ndjson".into()),
    }
}

/// Where one store is.
struct FileLocation {
    path: PathBuf,
    archive: bool,
}

impl fmt::Display for FileLocation {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "file:{}", self.path.display())
    }
}

#[async_trait]
impl StoreLocation for FileLocation {
    async fn open(&self, mode: OpenMode) -> Result<OpenStore, Problem> {
        if mode != OpenMode::Create && !self.path.try_exists()? {
            return Err(format!("there is no store at {}", self.path.display()).into());
        }
        let store = FileStore::open(&self.path)
            .map_err(|error| format!("cannot open the store {self}: {error}"))?;
        let store = Arc::new(store);
        let opened = OpenStore::new(store.clone());
        Ok(if self.archive { opened.with_archive(store) } else { opened })
    }

    async fn identity(&self) -> Option<String> {
        Some(self.path.canonicalize().ok()?.display().to_string())
    }
}
