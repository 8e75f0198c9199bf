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
    stores.add(sqlite::SqliteDriver);
    stores.add(postgres::PostgresDriver);
    stores.add(MemoryDriver);
}

#[cfg(test)]
pub(crate) fn built_in() -> Registry {
    let mut stores = Registry::default();
    register(&mut stores);
    stores
}

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
