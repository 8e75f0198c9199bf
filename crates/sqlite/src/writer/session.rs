//! The writer's connection while its thread lives.

use std::{cell::RefCell, ops::Deref};

use rusqlite::{Connection, Params, Statement};

use crate::pets::rows::INSERT;

/// A connection, and beside it the one statement that runs for nearly every write. To find it among
/// the cached statements would take a quarter of the time that adding an animal takes.
pub(crate) struct Session<'c> {
    connection: &'c Connection,
    insert: RefCell<Option<Statement<'c>>>,
}

impl<'c> Session<'c> {
    pub(super) fn over(connection: &'c Connection) -> Self {
        Self { connection, insert: RefCell::new(None) }
    }

    /// Runs [`INSERT`]; the identifier that it gave.
    pub(crate) fn insert_pet(&self, values: impl Params) -> rusqlite::Result<i64> {
        let mut prepared = self.insert.borrow_mut();
        let statement = match &mut *prepared {
            Some(statement) => statement,
            none => none.insert(self.connection.prepare(INSERT)?),
        };
        statement.insert(values)
    }
}

impl Deref for Session<'_> {
    type Target = Connection;

    fn deref(&self) -> &Connection {
        self.connection
    }
}
