//! The connection of the restore that was committed last, for the next restore or snapshot.
//!
//! A copy commits every 50,000 animals and a move every 2,000. A new connection for each takes the server
//! a process and the time of writing some thousand animals.

use std::sync::{Mutex, PoisonError};

use tokio::time;

use crate::{
    connection::Connection, connector::Purpose, error::StoreFailure, pool::Pool,
    transaction::Transaction,
};

/// A connection that is in no transaction, or none.
#[derive(Debug, Default)]
pub(crate) struct Spare(Mutex<Option<Connection>>);

impl Spare {
    /// Begins a transaction on it with `statement`. If that fails, or takes longer than
    /// connecting may, on a new connection.
    pub(crate) async fn begin(
        &self,
        pool: &Pool,
        statement: &str,
    ) -> Result<Transaction, StoreFailure> {
        let parameters = pool.parameters();
        if let Some(connection) = self.replace(None) {
            let timeout = Purpose::Archive.timeout(parameters);
            let transaction = Transaction::begin_on(connection, timeout, statement);
            let begun = time::timeout(parameters.connect_timeout, transaction).await;
            if let Ok(Ok(transaction)) = begun {
                return Ok(transaction);
            }
        }
        Transaction::begin(pool, Purpose::Archive, statement).await
    }

    /// Keeps the connection of a transaction that was committed.
    pub(crate) fn keep(&self, connection: Connection) {
        self.replace(Some(connection));
    }

    fn replace(&self, connection: Option<Connection>) -> Option<Connection> {
        let mut spare = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        std::mem::replace(&mut *spare, connection)
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use petstore_testing::{needs, postgres_or_skip};

    use super::Spare;
    use crate::{
        config::PostgresConfig,
        connector::Connector,
        pool::Pool,
        transaction::{READ_COMMITTED, Transaction},
    };

    async fn process(transaction: &Transaction) -> i32 {
        transaction.rows("SELECT pg_backend_pid()", &[]).await.unwrap()[0].get(0)
    }

    #[needs(postgres)]
    #[tokio::test]
    async fn the_connection_of_a_committed_restore_serves_the_next_one_unless_it_is_broken() {
        let Some(database) = postgres_or_skip("the_connection_of_a_committed_restore") else {
            return;
        };
        let connector = Connector::new(&PostgresConfig::parse(&database.url).unwrap()).unwrap();
        let (pool, spare) = (Pool::new(Arc::new(connector)).unwrap(), Spare::default());
        let first = spare.begin(&pool, READ_COMMITTED).await.unwrap();
        let served_by = process(&first).await;
        spare.keep(first.commit().await.unwrap());
        let second = spare.begin(&pool, READ_COMMITTED).await.unwrap();
        assert_eq!(process(&second).await, served_by);
        spare.keep(second.commit().await.unwrap());
        database.disconnect_all().unwrap();
        let third = spare.begin(&pool, READ_COMMITTED).await.unwrap();
        assert_ne!(process(&third).await, served_by);
    }
}
