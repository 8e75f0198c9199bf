//! What can be said of a store besides its rows.

use petstore_domain::{Finding, StoreError};
use tokio_postgres::Row;

use crate::{
    connector::Purpose,
    error::StoreFailure,
    schema, sequences,
    store::PostgresStore,
    transaction::{SNAPSHOT, Transaction},
};

const SETTINGS: &str = "SELECT current_setting('server_version'), current_setting('fsync'), \
     current_setting('full_page_writes'), current_setting('synchronous_commit'), \
     current_setting('synchronous_standby_names')";

/// Indexes of our schema that are not there, or that a failed build has left without use.
const UNUSABLE: &str = "SELECT wanted.name::text FROM unnest($1::text[]) AS wanted (name) \
     WHERE NOT EXISTS (SELECT 1 FROM pg_catalog.pg_index i \
     JOIN pg_catalog.pg_class c ON c.oid = i.indexrelid \
     JOIN pg_catalog.pg_namespace n ON n.oid = c.relnamespace \
     WHERE n.nspname = current_schema() AND c.relname = wanted.name \
     AND i.indisvalid AND i.indisready) ORDER BY 1";

/// The indexes of `schema.sql`.
const INDEXES: [&str; 9] = [
    "pet_pkey",
    "pet_available",
    "pet_pending",
    "pet_sold",
    "idempotency_pkey",
    "idempotency_by_age",
    "api_key_pkey",
    "api_key_digest_key",
    "api_key_by_name",
];

impl PostgresStore {
    /// Examines what the database says of itself: its schema, what a commit waits for, and whether the
    /// indexes can be used. Nothing is written.
    ///
    /// # Errors
    /// [`StoreError`] if the database does not answer.
    pub async fn inspect(&self) -> Result<Vec<Finding>, StoreError> {
        let transaction = Transaction::begin(&self.pool, Purpose::Archive, SNAPSHOT).await?;
        let settings = transaction.rows(SETTINGS, &[]).await?;
        let unusable = transaction.rows(UNUSABLE, &[&INDEXES.to_vec()]).await?;
        let texts = |rows: &[Row], column| {
            let texts = rows.iter().map(|row| row.try_get(column).map_err(StoreFailure::from));
            texts.collect::<Result<Vec<String>, _>>()
        };
        let setting = |column| Ok::<_, StoreFailure>(texts(&settings, column)?.concat());
        Ok(vec![
            Finding::good(
                "schema",
                format!("version {}, on PostgreSQL {}", schema::VERSION, setting(0)?),
            ),
            durability(&[setting(1)?, setting(2)?, setting(3)?, setting(4)?]),
            indexes(&texts(&unusable, 0)?),
            identifiers(sequences::behind(&self.pool).await),
        ])
    }
}

/// Judges what the server waits for before a commit is acknowledged.
fn durability([fsync, full_page_writes, commit, standbys]: &[String; 4]) -> Finding {
    let settings = format!(
        "fsync is {fsync}, full_page_writes is {full_page_writes}, synchronous_commit is {commit}"
    );
    let subject = "durability";
    if fsync != "on" || full_page_writes != "on" {
        let remedy = "set both to on in postgresql.conf";
        return Finding::warning(
            subject,
            format!("{settings}: a power failure may cost the data; {remedy}"),
        );
    }
    let standbys = match standbys.as_str() {
        "" => "no synchronous standby".to_owned(),
        names => format!("synchronous standbys: {names}"),
    };
    Finding::good(subject, format!("{settings}; {standbys}"))
}

fn indexes(unusable: &[String]) -> Finding {
    if unusable.is_empty() {
        return Finding::good(
            "indexes",
            format!("all {} are there and can be used", INDEXES.len()),
        );
    }
    let unusable = unusable.join(", ");
    Finding::fault(
        "indexes",
        format!("missing or not valid: {unusable}; REINDEX them, or create them again"),
    )
}

fn identifiers(behind: Result<Vec<String>, StoreFailure>) -> Finding {
    let subject = "identifiers";
    match behind {
        Ok(behind) if behind.is_empty() => Finding::good(subject, "the next ones are free"),
        Ok(behind) => {
            let behind = behind.join(", ");
            let remedy = "the next addition raises it, if the role may UPDATE the sequence";
            Finding::warning(
                subject,
                format!("a sequence is behind the rows that are there: {behind}; {remedy}"),
            )
        }
        Err(failure) => {
            let remedy = "grant the role SELECT on the sequences";
            Finding::warning(subject, format!("not examined: {failure}; {remedy}"))
        }
    }
}

#[cfg(test)]
mod tests {
    use petstore_domain::Severity;

    use super::durability;

    #[test]
    fn a_server_that_does_not_wait_for_its_disk_is_warned_of() {
        for (fsync, pages, severity) in [
            ("on", "on", Severity::Good),
            ("off", "on", Severity::Warning),
            ("on", "off", Severity::Warning),
        ] {
            let settings = [fsync, pages, "on", ""].map(str::to_owned);
            assert_eq!(durability(&settings).severity, severity, "{settings:?}");
        }
    }
}
