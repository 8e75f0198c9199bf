//! The contract of the storage ports, kept on one file.

use std::sync::Arc;

use async_trait::async_trait;
use example_adapter::FileStore;
use petstore_conformance::{Capability, Harness, Problem, ScratchStore, Store};
use tempfile::TempDir;

struct File;

#[async_trait]
impl Harness for File {
    async fn fresh(&self) -> Result<Box<dyn ScratchStore>, Problem> {
        Ok(Box::new(Directory(TempDir::new()?)))
    }

    fn unsupported(&self, capability: Capability) -> Option<&'static str> {
        match capability {
            Capability::SecondHandle => Some("the file is locked for one process"),
            Capability::Outage => Some("a test cannot take a local file out of reach"),
            Capability::Reopen | Capability::Version | Capability::Archive => None,
        }
    }
}

/// Removed with everything in it when it is dropped.
struct Directory(TempDir);

#[async_trait]
impl ScratchStore for Directory {
    async fn open(&self) -> Result<Store, Problem> {
        let store = FileStore::open(&self.0.path().join("petstore.ndjson"))?;
        Ok(Store::with_archive(Arc::new(store)))
    }
}

petstore_conformance::conformance_tests!(File);
