//! The stores that petstore comes with. Each is an entry like a team's own.

mod memory;
mod postgres;
mod sqlite;

use crate::registry::Registry;

/// Adds SQLite, PostgreSQL and memory.
pub(crate) fn register(stores: &mut Registry) {
    stores.add(sqlite::SqliteDriver);
    stores.add(postgres::PostgresDriver);
    stores.add(memory::MemoryDriver);
}

#[cfg(test)]
pub(crate) fn built_in() -> Registry {
    let mut stores = Registry::default();
    register(&mut stores);
    stores
}
