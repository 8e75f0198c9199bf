//! Throw-away schemas of a PostgreSQL database.

use std::{
    io,
    sync::{Mutex, PoisonError},
};

use petstore_postgres::PostgresConfig;

use crate::failure::Failure;

/// Makes names of schemas, and drops what was made under them.
pub(super) struct Schemas {
    config: PostgresConfig,
    made: Mutex<Vec<PostgresConfig>>,
}

impl Schemas {
    /// Of the database that `config` names; a schema that it names is not used.
    pub(super) fn of(config: &PostgresConfig) -> Self {
        Self { config: config.clone(), made: Mutex::new(Vec::new()) }
    }

    /// The way to a store that nobody else knows.
    pub(super) fn another(&self) -> io::Result<PostgresConfig> {
        let random = getrandom::u64().map_err(io::Error::other)?;
        let config = self.config.in_schema(&format!("petstore_conformance_{random:016x}"));
        self.made.lock().unwrap_or_else(PoisonError::into_inner).push(config.clone());
        Ok(config)
    }

    /// Drops them all. What cannot be dropped is named by the failure.
    pub(super) async fn drop_all(&self) -> Result<(), Failure> {
        let made = std::mem::take(&mut *self.made.lock().unwrap_or_else(PoisonError::into_inner));
        for config in made {
            config.drop_schema().await.map_err(|error| {
                Failure::runtime(format!(
                    "{error}; schemas named petstore_conformance_… may be left there: drop them"
                ))
            })?;
        }
        Ok(())
    }
}
