//! How petstore's commands know this store: by URLs `file:PATH`.

use std::{fmt, path::PathBuf, sync::Arc};

use async_trait::async_trait;
use petstore::{OpenMode, OpenStore, Problem, StoreDriver, StoreLocation};

use crate::store::FileStore;

/// The stores whose URLs are `file:PATH`.
#[derive(Clone, Copy, Debug)]
pub struct FileStores {
    archive: bool,
}

impl FileStores {
    /// With their archives.
    #[must_use]
    pub const fn new() -> Self {
        Self { archive: true }
    }

    /// With their archives hidden.
    #[must_use]
    pub const fn without_archive() -> Self {
        Self { archive: false }
    }
}

impl Default for FileStores {
    fn default() -> Self {
        Self::new()
    }
}

impl StoreDriver for FileStores {
    fn schemes(&self) -> &'static [&'static str] {
        &["file"]
    }

    fn usage(&self) -> &'static str {
        "file:PATH"
    }

    fn summary(&self) -> &'static str {
        "an append-only file, for one process at a time"
    }

    fn parse(&self, url: &str) -> Result<Arc<dyn StoreLocation>, Problem> {
        match url.strip_prefix("file:") {
            Some(path) if !path.is_empty() => {
                Ok(Arc::new(FileLocation { path: path.into(), archive: self.archive }))
            }
            _ => Err("no path is given; use file:PATH, for example file:petstore.ndjson".into()),
        }
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
