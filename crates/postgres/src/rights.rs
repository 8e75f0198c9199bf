//! The rights that serving needs, and the missing rights of the role. The server's errors name the object, but not
//! the right.

use petstore_domain::StoreError;
use tokio_postgres::error::SqlState;

use crate::{
    connection::Connection,
    error::{StoreFailure, open::Reason},
    store::PostgresStore,
    values::scalar,
};

/// The rights that serving needs. `docs/POSTGRES.md` grants exactly these, and a test takes away each of them.
const MISSING: &str = "SELECT string_agg('GRANT ' || rights || ' ON ' || object || ' TO ' || \
     quote_ident(current_user), '; ') FROM ( \
       SELECT object, string_agg(privilege, ', ' ORDER BY place) AS rights FROM (VALUES \
         (1, 'petstore_schema', 'SELECT'), \
         (2, 'petstore_state', 'SELECT'), (3, 'petstore_state', 'UPDATE'), \
         (4, 'pet', 'SELECT'), (5, 'pet', 'INSERT'), \
         (6, 'idempotency', 'SELECT'), (7, 'idempotency', 'INSERT'), (8, 'idempotency', 'DELETE'), \
         (9, 'api_key', 'SELECT'), (10, 'api_key', 'UPDATE')) AS needed (place, object, privilege) \
       WHERE NOT has_table_privilege(to_regclass(object), privilege) GROUP BY object \
       UNION ALL SELECT 'SEQUENCE pet_id', 'USAGE' \
       WHERE NOT has_sequence_privilege(to_regclass('pet_id'), 'USAGE, UPDATE') \
     ) AS missing";

impl PostgresStore {
    /// Returns the `GRANT` statements for the rights that serving needs and the role lacks; `None` if it lacks none.
    ///
    /// # Errors
    /// [`StoreError`] if the database does not answer.
    pub async fn missing_rights(&self) -> Result<Option<String>, StoreError> {
        Ok(scalar(&self.pool.query(MISSING, &[]).await?)?)
    }
}

/// Adds the missing rights to an error of a denied statement, if the role can see the tables.
pub(crate) async fn explain(reason: Reason, connection: &Connection) -> Reason {
    let Reason::Store(failure) = &reason else { return reason };
    if !failure.has_state(&SqlState::INSUFFICIENT_PRIVILEGE) {
        return reason;
    }
    let missing = async {
        connection.rollback().await?;
        scalar(&connection.query_alone(MISSING, &[]).await?)
    };
    let missing: Result<Option<String>, StoreFailure> = missing.await;
    match missing {
        Ok(Some(grants)) => Reason::Rights(failure.clone(), grants),
        Ok(None) | Err(_) => reason,
    }
}
