//! Connects to one host, detects a pooler, and sets the session up. The first message sets [`SETTING`] to a unique
//! value. If the connection has its own session, the session shows this value. `PgBouncer` refuses the message or
//! ignores the setting. A pooler that lends an older session shows another value or none.

use std::{
    sync::{
        Arc,
        atomic::{AtomicBool, Ordering},
    },
    time::Duration,
};

use tokio_postgres::{Config, error::SqlState};
use tokio_postgres_rustls::MakeRustlsConnect;

use crate::{config::PostgresConfig, connection::Connection, error::StoreFailure, values::scalar};

/// A setting that no server has by itself.
const SETTING: &str = "petstore.connection";
const SHOW: &str = "SELECT current_setting('petstore.connection', true)";

/// The states with which a pooler may refuse [`SETTING`].
const REFUSALS: [SqlState; 3] =
    [SqlState::PROTOCOL_VIOLATION, SqlState::FEATURE_NOT_SUPPORTED, SqlState::UNDEFINED_OBJECT];

/// The time limit of an idle transaction: a stalled client may hold the lock that every writer waits for.
const MAX_IDLE: Duration = Duration::from_secs(2);
/// The time limit of a statement that reads or writes a whole store.
const ARCHIVE_TIMEOUT: Duration = Duration::from_mins(2);
/// The time limit of a statement of an upgrade. Checking ten million animals against a rule takes a minute.
const UPGRADE_TIMEOUT: Duration = Duration::from_hours(1);

/// The purpose of a connection.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Purpose {
    /// Short statements.
    Calls,
    /// Reading or writing a whole store, or creating its tables.
    Archive,
    /// Upgrading the tables.
    Upgrade,
}

impl Purpose {
    /// Returns the time limit of a statement; `short` is the limit of a short statement.
    fn timeout(self, short: Duration) -> Duration {
        match self {
            Self::Calls => short,
            Self::Archive => ARCHIVE_TIMEOUT,
            Self::Upgrade => UPGRADE_TIMEOUT,
        }
    }
}

/// Everything that a connection to one host needs.
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
        let refuses = self.refuses_setting.load(Ordering::Relaxed).then_some(true);
        let (mut connection, is_shared) = match self.config.shared_session.or(refuses) {
            Some(is_shared) => (self.open(&self.driver, purpose).await?, is_shared),
            None => self.find_out(purpose).await?,
        };
        let settings = settings(&self.config, purpose, is_shared);
        if !is_shared {
            connection.batch(&settings).await?;
        }
        connection.shared_settings = is_shared.then_some(settings);
        Ok(connection)
    }

    async fn open(&self, driver: &Config, purpose: Purpose) -> Result<Connection, StoreFailure> {
        let timeout = purpose.timeout(self.config.call_timeout);
        Connection::open(driver, self.tls.clone(), timeout).await
    }

    /// Returns a connection, and whether its session belongs to a pooler.
    async fn find_out(&self, purpose: Purpose) -> Result<(Connection, bool), StoreFailure> {
        let value = getrandom::u64()?.to_string();
        let given = self.driver.get_options().unwrap_or_default();
        let mut asking = self.driver.clone();
        asking.options(format!("{given} -c {SETTING}={value}"));
        match self.open(&asking, purpose).await {
            Ok(connection) => {
                let shown: Option<String> = scalar(&connection.query(SHOW, &[]).await?)?;
                Ok((connection, shown != Some(value)))
            }
            // Our setting may be the reason why the first message was refused.
            Err(failure) if REFUSALS.iter().any(|state| failure.has_state(state)) => {
                let connection = self.open(&self.driver, purpose).await?;
                self.refuses_setting.store(true, Ordering::Relaxed);
                Ok((connection, true))
            }
            Err(failure) => Err(failure),
        }
    }
}

/// Makes the server probe an idle client after 10 seconds and give it up after 30 seconds. With the system's default of
/// two hours, the server would hold the locks of a vanished client.
const KEEPALIVES: &str = "SET SESSION tcp_keepalives_idle = 10; SET SESSION tcp_keepalives_interval = 5; \
     SET SESSION tcp_keepalives_count = 4; ";

/// Makes plans of short statements use indexes from the start. A statement may be planned while its table is small, or
/// before the server has statistics, and must not read a whole large table later. Disabled plans have a huge estimated
/// cost. The server would therefore compile the statement (`jit`), which takes longer than running it. Generic plans
/// are made once; planning a read of a page of animals takes longer than the read.
const FOR_SHORT_STATEMENTS: &str = "SET SESSION enable_seqscan = off; SET SESSION enable_hashjoin = off; \
     SET SESSION enable_mergejoin = off; SET SESSION jit = off; SET SESSION plan_cache_mode = force_generic_plan; ";

/// Settings of every session. The warning about a commit that did not wait for its standby must arrive. Where a policy
/// would hide rows, statements fail instead of returning too few rows.
const FOR_ALL: &str = "SET SESSION client_min_messages = warning; SET SESSION row_security = off; ";

/// Returns the SQL that sets up a session, or one transaction in a session that a pooler lends. The pooler sets its own
/// keep-alives.
fn settings(config: &PostgresConfig, purpose: Purpose, is_shared: bool) -> String {
    let is_short = purpose == Purpose::Calls;
    let statement = purpose.timeout(config.statement_timeout).as_millis();
    // 0 is no limit: a batch limits its own idle time while it holds locks.
    let idle = if is_short { config.call_timeout.min(MAX_IDLE).as_millis() } else { 0 };
    let timeouts = format!(
        "SET SESSION statement_timeout = {statement}; SET SESSION idle_in_transaction_session_timeout = {idle}; "
    );
    let short = if is_short { FOR_SHORT_STATEMENTS } else { "" };
    let keepalives = if is_shared { "" } else { KEEPALIVES };
    let scope = if is_shared { "LOCAL" } else { "SESSION" };
    let settings = [&timeouts, FOR_ALL, short, keepalives].concat().replace("SESSION", scope);
    let search_path = config.schema.as_ref().map_or_else(String::new, |schema| {
        format!("SET {scope} search_path = \"{}\"; ", schema.replace('"', "\"\""))
    });
    format!(
        "{settings}{search_path}SELECT set_config('synchronous_commit', 'on', {is_shared}) \
         WHERE current_setting('synchronous_commit') = 'off'"
    )
}
