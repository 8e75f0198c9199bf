//! `memory:`, a store that ends with the process.

use std::{fmt, sync::Arc};

use async_trait::async_trait;
use petstore_conformance::{Capability, Harness, ScratchStore, Store};
use petstore_memory::MemoryStore;

use crate::{
    driver::{OpenMode, Problem, StoreDriver, StoreLocation, ThrowAwayStores},
    open_store::OpenStore,
};

/// The entry of `memory:`.
pub(crate) struct MemoryDriver;

impl StoreDriver for MemoryDriver {
    fn schemes(&self) -> &'static [&'static str] {
        &["memory"]
    }

    fn usage(&self) -> &'static str {
        "memory:"
    }

    fn summary(&self) -> &'static str {
        "ends with the process"
    }

    fn is_lasting(&self) -> bool {
        false
    }

    fn parse(&self, url: &str) -> Result<Arc<dyn StoreLocation>, Problem> {
        match url {
            "memory:" => Ok(Arc::new(Memory)),
            _ => Err("memory: takes nothing behind the colon; use memory: alone".into()),
        }
    }
}

struct Memory;

impl fmt::Display for Memory {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("memory:")
    }
}

#[async_trait]
impl StoreLocation for Memory {
    async fn open(&self, _: OpenMode) -> Result<OpenStore, Problem> {
        let store = Arc::new(MemoryStore::new());
        Ok(OpenStore::new(store.clone()).with_archive(store))
    }

    fn throw_away(&self) -> Result<ThrowAwayStores, Problem> {
        Ok(ThrowAwayStores::new(Self))
    }
}

#[async_trait]
impl Harness for Memory {
    async fn fresh(&self) -> Result<Box<dyn ScratchStore>, Problem> {
        Ok(Box::new(Self))
    }

    fn unsupported(&self, capability: Capability) -> Option<&'static str> {
        match capability {
            Capability::Reopen | Capability::SecondHandle => {
                Some("a store in memory ends with its only handle")
            }
            Capability::Outage => Some("this command takes no store out of reach"),
            Capability::Relocation => Some("a store in memory has no address for a service"),
            Capability::Version | Capability::Archive => None,
        }
    }
}

#[async_trait]
impl ScratchStore for Memory {
    async fn open(&self) -> Result<Store, Problem> {
        Ok(Store::with_archive(Arc::new(MemoryStore::new())))
    }
}

#[cfg(test)]
mod tests {
    use super::MemoryDriver;
    use crate::driver::StoreDriver as _;

    #[test]
    fn memory_has_no_name() {
        assert_eq!(MemoryDriver.parse("memory:").unwrap().to_string(), "memory:");
        for url in ["memory:x", "memory://"] {
            let refusal = MemoryDriver.parse(url).map(drop).unwrap_err().to_string();
            assert_eq!(refusal, "memory: takes nothing behind the colon; use memory: alone");
        }
    }
}
