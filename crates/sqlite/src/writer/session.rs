//! The writer's connection while its thread lives.

use std::{cell::RefCell, ops::Deref};

use petstore_domain::{Pet, PetId, StoreError};
use rusqlite::{Connection, Statement, Transaction, TransactionBehavior};

use crate::{
    error::Failure,
    pets::{
        identifiers::Identifiers,
        rows::{INSERT, put},
    },
};

/// A connection, and beside it the one statement that runs for nearly every write. To find it among
/// the cached statements would take a quarter of the time that adding an animal takes.
pub(crate) struct Session<'c> {
    connection: &'c Connection,
    insert: RefCell<Option<Statement<'c>>>,
    /// Those of the transaction, from its first animal on.
    identifiers: RefCell<Option<Identifiers>>,
}

impl<'c> Session<'c> {
    pub(super) fn over(connection: &'c Connection) -> Self {
        Self { connection, insert: RefCell::new(None), identifiers: RefCell::new(None) }
    }

    /// Begins a transaction, to which all that is written belongs until it ends.
    pub(super) fn begin(&self) -> rusqlite::Result<Transaction<'c>> {
        if !self.is_autocommit() {
            // A rollback that failed: without this, no transaction could ever begin again.
            self.execute_batch("ROLLBACK")?;
        }
        // Between two transactions, another process may have added animals.
        self.identifiers.replace(None);
        Transaction::new_unchecked(self.connection, TransactionBehavior::Immediate)
    }

    /// Assigns an identifier to an animal that is about to be added.
    pub(crate) fn next_identifier<E: From<StoreError>>(&self) -> Result<PetId, Failure<E>> {
        let mut identifiers = self.identifiers.borrow_mut();
        match &mut *identifiers {
            Some(identifiers) => identifiers.next(),
            none => none.insert(Identifiers::begin(self.connection)?).next(),
        }
    }

    /// Runs [`INSERT`].
    pub(crate) fn insert(&self, pet: &Pet) -> rusqlite::Result<()> {
        let mut prepared = self.insert.borrow_mut();
        let statement = match &mut *prepared {
            Some(statement) => statement,
            none => none.insert(self.connection.prepare(INSERT)?),
        };
        put(statement, pet).map(drop)
    }
}

impl Deref for Session<'_> {
    type Target = Connection;

    fn deref(&self) -> &Connection {
        self.connection
    }
}
