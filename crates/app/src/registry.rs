//! The stores that a program knows, by the scheme of their URLs.

use std::{fmt, sync::Arc};

use crate::{
    driver::{Problem, StoreDriver, StoreLocation},
    failure::Failure,
};

/// The registered kinds of store, in the order in which `--help` lists them.
#[derive(Default)]
pub(crate) struct Registry(Vec<Box<dyn StoreDriver>>);

impl Registry {
    pub(crate) fn add(&mut self, driver: impl StoreDriver) {
        self.0.push(Box::new(driver));
    }

    /// Refuses a scheme that is registered twice.
    pub(crate) fn check(&self) -> Result<(), Failure> {
        let mut known: Vec<&str> = Vec::new();
        for scheme in self.0.iter().flat_map(|driver| driver.schemes()) {
            if known.contains(scheme) {
                return Err(Failure::runtime(format!(
                    "two stores are registered under the scheme '{scheme}:'; register one of them"
                )));
            }
            known.push(scheme);
        }
        Ok(())
    }

    /// Reads the URL of a store; where it must be `lasting`, one in memory is refused.
    pub(crate) fn parse(
        &self,
        url: &str,
        lasting: bool,
    ) -> Result<Arc<dyn StoreLocation>, Problem> {
        let scheme = url.split_once(':').map(|(scheme, _)| scheme);
        let driver = self
            .0
            .iter()
            .find(|driver| scheme.is_some_and(|scheme| driver.schemes().contains(&scheme)));
        let driver = driver.ok_or_else(|| format!("a store is {}", self.usages(false)))?;
        let location = driver.parse(url)?;
        if lasting && !driver.is_lasting() {
            let usages = self.usages(true);
            return Err(format!("a store in memory ends with this command; use {usages}").into());
        }
        Ok(location)
    }

    /// Returns a line of `--help` for each kind of store.
    pub(crate) fn help(&self, lasting: bool) -> String {
        let lines = self.listed(lasting);
        let lines = lines.map(|driver| format!("- {} ({})", driver.usage(), driver.summary()));
        lines.collect::<Vec<_>>().join("\n")
    }

    /// Returns how URLs are written: `A, B or C`.
    fn usages(&self, lasting: bool) -> String {
        let usages: Vec<_> = self.listed(lasting).map(StoreDriver::usage).collect();
        match usages.split_last() {
            Some((last, others)) if !others.is_empty() => {
                format!("{} or {last}", others.join(", "))
            }
            _ => usages.concat(),
        }
    }

    fn listed(&self, lasting: bool) -> impl Iterator<Item = &dyn StoreDriver> {
        let drivers = self.0.iter().map(|driver| &**driver);
        drivers.filter(move |driver| !lasting || driver.is_lasting())
    }
}

impl fmt::Debug for Registry {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_list().entries(self.0.iter().map(|driver| driver.schemes())).finish()
    }
}

#[cfg(test)]
mod tests;
