//! The stores that petstore comes with, each an entry like a team's own. That of `memory:`, a store that ends with
//! the process, is here.

mod postgres;
mod sqlite;

use std::{fmt, sync::Arc};

use async_trait::async_trait;
use petstore_memory::MemoryStore;

use crate::{
    driver::{OpenMode, OpenStore, Problem, StoreDriver, StoreLocation},
    registry::Registry,
};

/// Adds SQLite, PostgreSQL and memory.
pub(crate) fn register(stores: &mut Registry) {
    for driver in [sqlite::DRIVER, postgres::DRIVER, MEMORY] {
        stores.add(driver);
    }
}

#[cfg(test)]
pub(crate) fn built_in() -> Registry {
    let mut stores = Registry::default();
    register(&mut stores);
    stores
}

/// The entry of `memory:`.
const MEMORY: StoreDriver = StoreDriver {
    schemes: &["memory"],
    usage: "memory:",
    summary: "ends with the process",
    is_lasting: false,
    parse: |url| match url {
        "memory:" => Ok(Arc::new(Memory)),
        _ => Err("memory: takes nothing behind the colon; use memory: alone".into()),
    },
};

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
}

#[cfg(test)]
mod tests {
    use super::MEMORY;

    #[test]
    fn memory_has_no_name() {
        assert_eq!((MEMORY.parse)("memory:").unwrap().to_string(), "memory:");
        for url in ["memory:x", "memory://"] {
            let refusal = (MEMORY.parse)(url).map(drop).unwrap_err().to_string();
            assert_eq!(refusal, "memory: takes nothing behind the colon; use memory: alone");
        }
    }
}
