//! Which store a URL names, however it is spelled.

use crate::{
    config::PostgresConfig,
    connector::{Connector, Purpose},
};

/// The running server, the database and the schema. A server is known by the microsecond of its start: its
/// `system_identifier` is also that of each copy that was made of it, which is another store.
const IDENTITY: &str = "SELECT extract(epoch FROM pg_postmaster_start_time()) || ':' || \
     oid || ':' || current_schema() FROM pg_catalog.pg_database WHERE datname = current_database()";

impl PostgresConfig {
    /// What the store that this names alone is, whatever names the URL uses for its host; `None` if the
    /// server does not tell.
    pub async fn identity(&self) -> Option<String> {
        let connection = Connector::new(self).ok()?.connect(Purpose::Archive).await.ok()?;
        let rows = connection.rows_alone(IDENTITY, &[]).await.ok()?;
        rows.first()?.try_get(0).ok()
    }
}
