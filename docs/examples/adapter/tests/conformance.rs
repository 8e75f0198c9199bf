//! The contract of the storage ports, kept on one file: throw-away stores, each in a temporary directory of
//! its own, and a test for each promise.

use std::sync::Arc;

use async_trait::async_trait;
use example_adapter::FileStore;
use petstore_conformance::{Capability, Harness, Problem, ScratchStore, Store};
use tempfile::TempDir;

/// Hands out throw-away stores.
#[derive(Clone, Copy, Debug)]
struct ScratchFiles {
    /// Whether the stores have an archive.
    archive: bool,
}

#[async_trait]
impl Harness for ScratchFiles {
    async fn fresh(&self) -> Result<Box<dyn ScratchStore>, Problem> {
        Ok(Box::new(Directory { directory: TempDir::new()?, archive: self.archive }))
    }

    fn unsupported(&self, capability: Capability) -> Option<&'static str> {
        match capability {
            Capability::SecondHandle => Some("the file is locked for one process"),
            Capability::Outage => Some("a test cannot take a local file out of reach"),
            Capability::Relocation => Some("it is moved with the service stopped"),
            Capability::Archive => (!self.archive).then_some("its archive is hidden"),
            Capability::Reopen | Capability::Version => None,
        }
    }
}

/// Removed with everything in it when it is dropped.
struct Directory {
    directory: TempDir,
    archive: bool,
}

#[async_trait]
impl ScratchStore for Directory {
    async fn open(&self) -> Result<Store, Problem> {
        let store = Arc::new(FileStore::open(&self.directory.path().join("petstore.ndjson"))?);
        Ok(if self.archive { Store::with_archive(store) } else { Store::new(store) })
    }
}

petstore_conformance::conformance_tests!(ScratchFiles { archive: true });

mod without_an_archive {
    use super::ScratchFiles;

    petstore_conformance::conformance_tests!(ScratchFiles { archive: false });
}
