//! The entry through which petstore's commands open this store: URLs `file:PATH`.

use std::{fmt, path::PathBuf, sync::Arc};

use async_trait::async_trait;
use petstore::{
    BoxError, OpenMode, OpenOptions, OpenStore, StoreDriver, StoreLocation, StoreNotFound,
};
use tokio_util::sync::CancellationToken;

use crate::{journal::Access, store::FileStore};

/// The stores whose URLs are `file:PATH`.
pub const FILE_STORES: StoreDriver = StoreDriver {
    schemes: &["file"],
    usage: "file:PATH",
    summary: "an append-only file, for one process at a time",
    is_persistent: true,
    parse: |url| Ok(Arc::new(FileLocation { path: path(url)?, archive: true })),
};

/// As [`FILE_STORES`], but the stores have neither an archive nor a handover.
pub const WITHOUT_ARCHIVE: StoreDriver = StoreDriver {
    parse: |url| Ok(Arc::new(FileLocation { path: path(url)?, archive: false })),
    ..FILE_STORES
};

fn path(url: &str) -> Result<PathBuf, BoxError> {
    match url.strip_prefix("file:") {
        Some(path) if !path.is_empty() => Ok(path.into()),
        _ => Err("no path is given; use file:PATH, for example file:petstore.log".into()),
    }
}

/// The place of one store.
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
    async fn open(&self, options: OpenOptions) -> Result<OpenStore, BoxError> {
        let access = match options.mode {
            OpenMode::Create => Access::Create,
            OpenMode::ReadWrite => Access::Write,
            OpenMode::ReadOnly => Access::Read,
        };
        let is_new = !self.path.try_exists()?;
        if is_new && access != Access::Create {
            let line = format!("there is no store at {}", self.path.display());
            return Err(StoreNotFound::new(line).into());
        }
        let panicked = CancellationToken::new();
        // Do not wrap this error: `serve` recognizes `StoreError::Unavailable` by its type, and tries again later.
        let store = FileStore::open(&self.path, access, options.reads_while_sealed, &panicked)?;
        let store = Arc::new(store);
        let mut opened = OpenStore::new(store.clone()).with_panic_token(panicked);
        if is_new {
            opened = opened.newly_created(self);
        }
        let whole = |opened: OpenStore| opened.with_archive(store.clone()).with_handover(store);
        Ok(if self.archive { whole(opened) } else { opened })
    }

    async fn identity(&self) -> Option<String> {
        Some(self.path.canonicalize().ok()?.display().to_string())
    }
}
