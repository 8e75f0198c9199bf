//! The size of the database, and the findings of `petstore check`.

use petstore_domain::StoreError;
use petstore_storage::Finding;
use tokio_postgres::error::SqlState;

use crate::{
    connection::SNAPSHOT,
    connector::Purpose,
    error::StoreFailure,
    schema::VERSION,
    sequences,
    store::PostgresStore,
    values::{column, scalar},
};

const SETTINGS: &str = "SELECT current_setting(name) FROM unnest(ARRAY['server_version', 'fsync', \
     'full_page_writes', 'synchronous_commit', 'synchronous_standby_names']) \
     WITH ORDINALITY AS u (name, place) ORDER BY place";

/// Selects indexes of the schema that are missing, or that a failed build left invalid.
const UNUSABLE: &str = "SELECT wanted.name FROM unnest(ARRAY['pet_pkey', 'pet_available', 'pet_pending', 'pet_sold', \
       'idempotency_pkey', 'idempotency_by_age', 'idempotency_by_pet', 'api_key_pkey', 'api_key_digest_key', \
       'api_key_by_name']) AS wanted (name) \
     WHERE NOT EXISTS (SELECT 1 FROM pg_catalog.pg_index i \
     JOIN pg_catalog.pg_class c ON c.oid = i.indexrelid \
     JOIN pg_catalog.pg_namespace n ON n.oid = c.relnamespace \
     WHERE n.nspname = current_schema() AND c.relname = wanted.name \
     AND i.indisvalid AND i.indisready) ORDER BY 1";

const SIZE: &str = "SELECT pg_catalog.pg_database_size(pg_catalog.current_database())";

impl PostgresStore {
    /// Returns the size of the whole database in bytes. The server reads the size of each of its files, so call this
    /// rarely.
    ///
    /// # Errors
    /// [`StoreError`] if the database does not answer.
    pub async fn database_bytes(&self) -> Result<u64, StoreError> {
        // Runs without the deadline of a call: a passed deadline would drop all connections. The server's
        // `statement_timeout` limits this statement.
        let bytes: i64 = scalar(&self.pool.query(SIZE, &[]).await?)?;
        Ok(bytes.unsigned_abs())
    }

    /// Examines the schema, the durability of commits, the indexes and the identifiers. Writes nothing.
    ///
    /// # Errors
    /// [`StoreError`] if the database does not answer.
    pub async fn inspect(&self) -> Result<Vec<Finding>, StoreError> {
        let transaction = self.pool.begin(Purpose::Archive, SNAPSHOT).await?;
        let settings: Vec<String> = column(&transaction.query(SETTINGS, &[]).await?)?;
        let unusable: Vec<String> = column(&transaction.query(UNUSABLE, &[]).await?)?;
        let [release, fsync, pages, commit, standbys] = &settings[..] else {
            return Err(StoreError::corrupt("the settings of the server", "each has a value"));
        };
        Ok(vec![
            Finding::ok("schema", format!("version {VERSION}, on PostgreSQL {release}")),
            durability([fsync, pages, commit, standbys]),
            indexes(&unusable),
            identifiers(sequences::are_behind(&self.pool).await),
        ])
    }
}

/// Describes the settings that decide whether an acknowledged commit survives a failure.
fn durability([fsync, pages, commit, standbys]: [&str; 4]) -> Finding {
    let settings =
        format!("fsync is {fsync}, full_page_writes is {pages}, synchronous_commit is {commit}");
    if fsync != "on" || pages != "on" {
        let risk = "a power failure may destroy data; set both to on in postgresql.conf";
        return Finding::warning("durability", format!("{settings}: {risk}"));
    }
    let standbys = match standbys {
        "" => "no synchronous standby".to_owned(),
        names => format!("synchronous standbys: {names}"),
    };
    Finding::ok("durability", format!("{settings}; {standbys}"))
}

fn indexes(unusable: &[String]) -> Finding {
    if unusable.is_empty() {
        return Finding::ok("indexes", "all exist and are valid");
    }
    let (unusable, remedy) = (unusable.join(", "), "REINDEX them, or create them again");
    Finding::error("indexes", format!("missing or invalid: {unusable}; {remedy}"))
}

fn identifiers(are_behind: Result<bool, StoreFailure>) -> Finding {
    let subject = "identifiers";
    match are_behind {
        Ok(false) => Finding::ok(subject, "the next identifiers are free"),
        Ok(true) => Finding::warning(
            subject,
            "the sequence pet_id is behind the rows; the next addition raises it, if the role may \
             UPDATE the sequence",
        ),
        // Serving does not need this right.
        Err(failure) if failure.has_state(&SqlState::INSUFFICIENT_PRIVILEGE) => {
            Finding::ok(subject, "not examined: the role has no SELECT on the sequence pet_id")
        }
        Err(failure) => Finding::warning(subject, format!("not examined: {failure}")),
    }
}

#[cfg(test)]
mod tests {
    use petstore_storage::Severity;

    use super::{durability, identifiers};
    use crate::error::StoreFailure;

    #[test]
    fn the_inspection_warns_of_settings_that_risk_data_in_a_power_failure() {
        let risk = ": a power failure may destroy data; set both to on in postgresql.conf";
        for (settings, severity, end) in [
            (["on", "on", "local", ""], Severity::Ok, "commit is local; no synchronous standby"),
            (["on", "on", "on", "a, b"], Severity::Ok, "; synchronous standbys: a, b"),
            (["off", "on", "on", ""], Severity::Warning, risk),
            (["on", "off", "on", ""], Severity::Warning, risk),
        ] {
            let found = durability(settings);
            assert!(found.severity == severity && found.detail.ends_with(end), "{found:?}");
            let [fsync, pages, ..] = settings;
            let begin = format!("fsync is {fsync}, full_page_writes is {pages}, ");
            assert!(found.detail.starts_with(&begin), "{found:?}");
        }
        let unknown = identifiers(Err(StoreFailure::Contention));
        assert!(unknown.severity == Severity::Warning, "{unknown:?}");
    }
}
