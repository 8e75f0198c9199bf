//! The contract of the storage ports, tested on stores in one file: throw-away stores, each in a temporary directory of
//! its own, and a test for each promise.

use std::sync::Arc;

use async_trait::async_trait;
use example_adapter::{Access, FileStore};
use petstore_conformance::{BoxError, Capability, Harness, ScratchStore, Store};
use tempfile::TempDir;
use tokio_util::sync::CancellationToken;

/// Hands out throw-away stores.
#[derive(Clone, Copy, Debug)]
struct ScratchFiles {
    /// `true` if the stores have an archive.
    archive: bool,
}

#[async_trait]
impl Harness for ScratchFiles {
    async fn fresh(&self) -> Result<Box<dyn ScratchStore>, BoxError> {
        Ok(Box::new(Directory { directory: TempDir::new()?, archive: self.archive }))
    }

    fn unsupported(&self, capability: Capability) -> Option<&'static str> {
        match capability {
            Capability::SecondHandle | Capability::OtherProcess => {
                Some("the file is locked for one process")
            }
            Capability::Outage => Some("a test cannot take a local file out of reach"),
            Capability::RefusedRow | Capability::DeletedRow => {
                Some("nothing but the adapter writes the file")
            }
            Capability::Archive | Capability::Handover => {
                (!self.archive).then_some("its archive is hidden")
            }
            Capability::Reopen | Capability::Version => None,
        }
    }
}

/// The place of one store: a directory that is removed with its content when this value is dropped.
struct Directory {
    directory: TempDir,
    archive: bool,
}

#[async_trait]
impl ScratchStore for Directory {
    async fn open(&self, reads_while_sealed: bool) -> Result<Store, BoxError> {
        let (path, panicked) =
            (self.directory.path().join("petstore.log"), CancellationToken::new());
        let store = FileStore::open(&path, Access::Create, reads_while_sealed, &panicked)?;
        let store = Arc::new(store);
        Ok(if self.archive {
            Store::with_archive(store.clone()).with_handover(store)
        } else {
            Store::new(store)
        })
    }
}

petstore_conformance::conformance_tests!(ScratchFiles { archive: true });

mod without_an_archive {
    use super::ScratchFiles;

    petstore_conformance::conformance_tests!(ScratchFiles { archive: false });
}
