//! The kinds of store that a program knows, by the scheme of their URLs; and those that petstore comes with, each an
//! entry like a team's own. That of `memory:`, a store that ends with the process, is here.

mod postgres;
mod sqlite;

#[cfg(test)]
mod tests;

use std::{collections::BTreeSet, fmt, sync::Arc};

use async_trait::async_trait;
use petstore_memory::MemoryStore;

use crate::{
    driver::{OpenMode, OpenStore, Problem, StoreDriver, StoreLocation},
    failure::Failure,
};

/// The stores that petstore comes with.
pub(crate) const BUILT_IN: [StoreDriver; 3] = [sqlite::DRIVER, postgres::DRIVER, MEMORY];

/// The registered kinds of store, in the order in which `--help` lists them.
#[derive(Debug, Default)]
pub(crate) struct Registry(pub(crate) Vec<StoreDriver>);

impl Registry {
    /// Refuses a scheme that is registered twice.
    pub(crate) fn check(&self) -> Result<(), Failure> {
        let mut known = BTreeSet::new();
        let mut schemes = self.0.iter().flat_map(|driver| driver.schemes);
        schemes.find(|scheme| !known.insert(**scheme)).map_or(Ok(()), |scheme| {
            Err(Failure::runtime(format!(
                "two stores are registered under the scheme '{scheme}:'; register one of them"
            )))
        })
    }

    /// Reads the URL of a store; with it, whether the store outlasts the process. One that does not is refused where it
    /// must.
    pub(crate) fn parse(
        &self,
        url: &str,
        must_last: bool,
    ) -> Result<(Arc<dyn StoreLocation>, bool), Problem> {
        let scheme = url.split_once(':').map(|(scheme, _)| scheme);
        let has_scheme =
            |driver: &&StoreDriver| scheme.is_some_and(|it| driver.schemes.contains(&it));
        let driver = self.0.iter().find(has_scheme);
        let driver = driver.ok_or_else(|| format!("a store is {}", self.usages(false)))?;
        let location = (driver.parse)(url)?;
        if must_last && !driver.is_lasting {
            let usages = self.usages(true);
            return Err(format!("a store in memory ends with this command; use {usages}").into());
        }
        Ok((location, driver.is_lasting))
    }

    /// Returns a line of `--help` for each kind of store.
    pub(crate) fn help(&self, lasting: bool) -> String {
        let lines = self.listed(lasting);
        let lines = lines.map(|driver| format!("- {} ({})", driver.usage, driver.summary));
        lines.collect::<Vec<_>>().join("\n")
    }

    /// Returns how URLs are written: `A, B or C`.
    fn usages(&self, lasting: bool) -> String {
        let usages: Vec<_> = self.listed(lasting).map(|driver| driver.usage).collect();
        match usages.split_last() {
            Some((last, others)) if !others.is_empty() => {
                format!("{} or {last}", others.join(", "))
            }
            _ => usages.concat(),
        }
    }

    fn listed(&self, lasting: bool) -> impl Iterator<Item = &StoreDriver> {
        self.0.iter().filter(move |driver| !lasting || driver.is_lasting)
    }
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
