//! Whose the server's session is: this connection's own, or a pooler's.
//!
//! A pooler such as `PgBouncer` gives a session to another client after each transaction. Then nothing
//! may stay in it: no prepared statement, whose name another client uses too, and no setting. So each
//! statement is sent together with its values, and each transaction begins with its settings. This
//! costs the server three to four times as much for a read, which is planned anew each time
//! (`docs/OPERATING.md`), so a session of our own prepares its statements.

use std::{
    collections::HashMap,
    sync::{Mutex, MutexGuard, PoisonError},
};

use tokio_postgres::Statement;

/// Whose the server's session is.
pub(crate) enum Session {
    /// This connection's: it keeps settings and prepared statements.
    Own(Prepared),
    /// A pooler's: it is ours from the beginning of a transaction to its end.
    Shared {
        /// SQL that applies the settings to one transaction.
        settings: String,
    },
}

/// Statements live as long as the session that they were prepared in.
#[derive(Default)]
pub(crate) struct Prepared(Mutex<HashMap<&'static str, Statement>>);

impl Prepared {
    pub(super) fn get(&self, sql: &str) -> Option<Statement> {
        self.statements().get(sql).cloned()
    }

    pub(super) fn insert(&self, sql: &'static str, statement: Statement) {
        self.statements().insert(sql, statement);
    }

    fn statements(&self) -> MutexGuard<'_, HashMap<&'static str, Statement>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
