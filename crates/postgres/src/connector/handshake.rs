//! From one host to a connection: whether a pooler stands in between, and the settings of the session.
//!
//! Each connection asks for a setting with a value of its own in its first message. A server sets it,
//! and the session has it then. `PgBouncer` refuses the message or passes the setting over; whatever
//! gives out sessions that were opened before has another value or none. A session without our value is
//! a pooler's.

use std::{
    sync::{
        Arc,
        atomic::{AtomicBool, Ordering},
    },
    time::Duration,
};

use tokio_postgres::{Config, error::SqlState};
use tokio_postgres_rustls::MakeRustlsConnect;

use crate::{config::PostgresConfig, connection::Connection, error::StoreFailure};

/// The setting, a name that no server knows otherwise.
const SETTING: &str = "petstore.connection";
const SHOW: &str = "SELECT current_setting('petstore.connection', true)";

/// How long a client may stall inside a transaction: it may hold the lock that every writer waits for.
const MAX_IDLE: Duration = Duration::from_secs(2);
/// How long one batch of a whole store may take.
const ARCHIVE_TIMEOUT: Duration = Duration::from_mins(2);
/// How long a step of an upgrade may take: to check ten million animals against a rule takes a minute.
const UPGRADE_TIMEOUT: Duration = Duration::from_hours(1);

/// The purpose of a connection.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Purpose {
    /// Short statements.
    Calls,
    /// Moving a whole store, or creating its tables.
    Archive,
    /// Changing the tables.
    Upgrade,
}

/// How to connect to one host.
#[derive(Clone)]
pub(super) struct Handshake {
    pub(super) driver: Config,
    pub(super) tls: MakeRustlsConnect,
    pub(super) config: Arc<PostgresConfig>,
    /// `true` if the host is known to refuse our setting.
    pub(super) refuses_setting: Arc<AtomicBool>,
}

impl Handshake {
    pub(super) async fn connect(self, purpose: Purpose) -> Result<Connection, StoreFailure> {
        let (connection, is_shared) = match self.config.shared_session {
            Some(is_shared) => (self.plain(&self.driver, purpose).await?, is_shared),
            None => self.find_out(purpose).await?,
        };
        let settings = settings(&self.config, purpose, is_shared);
        if is_shared {
            return Ok(connection.with_shared_session(settings));
        }
        connection.batch(&settings).await?;
        Ok(connection)
    }

    async fn plain(&self, driver: &Config, purpose: Purpose) -> Result<Connection, StoreFailure> {
        let (client, wire) = driver.connect(self.tls.clone()).await?;
        let timeout = match purpose {
            Purpose::Calls => self.config.call_timeout,
            Purpose::Archive => ARCHIVE_TIMEOUT,
            Purpose::Upgrade => UPGRADE_TIMEOUT,
        };
        Ok(Connection::new(client, wire, timeout))
    }

    /// Returns a connection, and whether its session is a pooler's.
    async fn find_out(&self, purpose: Purpose) -> Result<(Connection, bool), StoreFailure> {
        if self.refuses_setting.load(Ordering::Relaxed) {
            return Ok((self.plain(&self.driver, purpose).await?, true));
        }
        let value = getrandom::u64()?.to_string();
        let given = self.driver.get_options().unwrap_or_default();
        let mut asking = self.driver.clone();
        asking.options(format!("{given} -c {SETTING}={value}"));
        match self.plain(&asking, purpose).await {
            Ok(connection) => {
                let is_own = connection.shows(SHOW, &value).await?;
                Ok((connection, !is_own))
            }
            // The first message may have been refused for our setting.
            Err(failure)
                if failure.has_state(&SqlState::PROTOCOL_VIOLATION)
                    || failure.has_state(&SqlState::FEATURE_NOT_SUPPORTED)
                    || failure.has_state(&SqlState::UNDEFINED_OBJECT) =>
            {
                let connection = self.plain(&self.driver, purpose).await?;
                self.refuses_setting.store(true, Ordering::Relaxed);
                Ok((connection, true))
            }
            Err(failure) => Err(failure),
        }
    }
}

/// A server must not hold the locks of a client that has vanished until the system's own keep-alive
/// of two hours: it is asked after 10 seconds, and gone after 30.
const KEEPALIVES: [(&str, &str); 3] = [
    ("tcp_keepalives_idle", "10"),
    ("tcp_keepalives_interval", "5"),
    ("tcp_keepalives_count", "4"),
];

/// A short statement must not read all of a table. It may be planned while its table is still small, or
/// before the server knows how it has grown: plans use indexes from the start. What no index serves then
/// has such a cost on paper that the server would compile it, which takes longer than running it. As such
/// a plan does not depend on the values, it is made once: the server would plan a page anew each time, for
/// its limit, which takes longer than reading it.
const FOR_SHORT_STATEMENTS: [(&str, &str); 5] = [
    ("enable_seqscan", "off"),
    ("enable_hashjoin", "off"),
    ("enable_mergejoin", "off"),
    ("jit", "off"),
    ("plan_cache_mode", "force_generic_plan"),
];

/// Returns the SQL that sets up a session of our own, or one transaction in a session that a pooler shares out. How
/// the server looks for vanished clients is the pooler's setting there.
fn settings(config: &PostgresConfig, purpose: Purpose, is_shared: bool) -> String {
    let scope = if is_shared { "LOCAL" } else { "SESSION" };
    let set = |name: &str, value: &str| format!("SET {scope} {name} = {value}");
    let (statement, idle) = match purpose {
        Purpose::Calls => (config.statement_timeout, config.call_timeout.min(MAX_IDLE)),
        // A batch that holds locks limits its own idle time.
        Purpose::Archive => (ARCHIVE_TIMEOUT, Duration::ZERO),
        Purpose::Upgrade => (UPGRADE_TIMEOUT, Duration::ZERO),
    };
    let mut sql = vec![
        set("statement_timeout", &statement.as_millis().to_string()),
        set("idle_in_transaction_session_timeout", &idle.as_millis().to_string()),
        // The warning of a commit that did not wait for its standby must arrive.
        set("client_min_messages", "warning"),
        // An error, not an empty list, where a policy would hide rows.
        set("row_security", "off"),
    ];
    if let Some(schema) = &config.schema {
        sql.push(set("search_path", &format!("\"{}\"", schema.replace('"', "\"\""))));
    }
    if purpose == Purpose::Calls {
        sql.extend(FOR_SHORT_STATEMENTS.map(|(name, value)| set(name, value)));
    }
    if !is_shared {
        sql.extend(KEEPALIVES.map(|(name, value)| set(name, value)));
    }
    sql.push(format!(
        "SELECT set_config('synchronous_commit', 'on', {is_shared}) \
         WHERE current_setting('synchronous_commit') = 'off'"
    ));
    sql.join("; ")
}
