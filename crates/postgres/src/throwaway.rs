//! Stores that live in a schema of their own for a while.

use std::time::Duration;

use tokio::time;

use crate::{
    OpenError, PostgresConfig, connection::Purpose, connector::Connector, error::StoreFailure,
    schema::SchemaError,
};

/// How long a schema may take to go.
const DROPPING: Duration = Duration::from_secs(10);

impl PostgresConfig {
    /// The same database and settings, in the schema `name`, which is made when the store is opened.
    #[must_use]
    pub fn in_schema(&self, name: &str) -> Self {
        let mut config = self.clone();
        config.parameters.schema = Some(name.to_owned());
        config
    }

    /// Drops the schema that this names (`schema=NAME`), with all that is in it; nothing if it names
    /// none, or one that is not there.
    ///
    /// # Errors
    /// [`OpenError`], also if it takes longer than 10 seconds.
    pub async fn drop_schema(&self) -> Result<(), OpenError> {
        let Some(name) = &self.parameters.schema else { return Ok(()) };
        let sql = format!("DROP SCHEMA IF EXISTS \"{}\" CASCADE", name.replace('"', "\"\""));
        let dropped = async {
            let connector = Connector::new(self)?;
            let connection = connector.connect(Purpose::Archive).await?;
            connection.batch(&sql).await.map_err(SchemaError::from)?;
            Ok(())
        };
        let late = |_| Err(SchemaError::from(StoreFailure::Deadline(DROPPING)).into());
        time::timeout(DROPPING, dropped)
            .await
            .unwrap_or_else(late)
            .map_err(|reason| OpenError::new(self, reason))
    }
}
