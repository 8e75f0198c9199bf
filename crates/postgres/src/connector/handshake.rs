//! From one host to a connection, and whether a pooler stands in between.
//!
//! Each connection asks for a setting with a value of its own in its first message. A server sets it,
//! and the session has it then. `PgBouncer` refuses the message or passes the setting over; whatever
//! gives out sessions that were opened before has another value or none. A session without our value is
//! a pooler's.

use std::sync::{
    Arc,
    atomic::{AtomicBool, Ordering},
};

use tokio_postgres::{Config, error::SqlState};
use tokio_postgres_rustls::MakeRustlsConnect;

use super::session::{self, Purpose};
use crate::{config::Parameters, connection::Connection, error::HostFailure};

/// The setting, a name that no server knows otherwise.
const SETTING: &str = "petstore.connection";
const SHOW: &str = "SELECT current_setting('petstore.connection', true)";

/// How to connect to one host.
#[derive(Clone)]
pub(super) struct Handshake {
    pub(super) config: Config,
    pub(super) tls: MakeRustlsConnect,
    pub(super) parameters: Arc<Parameters>,
    /// Whether the host is known to refuse our setting.
    pub(super) refuses_setting: Arc<AtomicBool>,
}

impl Handshake {
    pub(super) async fn connect(self, purpose: Purpose) -> Result<Connection, HostFailure> {
        let (connection, is_shared) = match self.parameters.shared_session {
            Some(is_shared) => (self.plain().await?, is_shared),
            None => self.find_out().await?,
        };
        if is_shared {
            let settings = session::of_transaction(&self.parameters, purpose);
            return Ok(connection.with_shared_session(settings));
        }
        connection.batch(&session::of_session(&self.parameters, purpose)).await?;
        Ok(connection)
    }

    async fn plain(&self) -> Result<Connection, tokio_postgres::Error> {
        let (client, wire) = self.config.connect(self.tls.clone()).await?;
        Ok(Connection::new(client, wire))
    }

    /// A connection, and whether its session is a pooler's.
    async fn find_out(&self) -> Result<(Connection, bool), HostFailure> {
        if self.refuses_setting.load(Ordering::Relaxed) {
            return Ok((self.plain().await?, true));
        }
        let value = getrandom::u64().map_err(HostFailure::Random)?.to_string();
        let mut asking = self.clone();
        let given = self.config.get_options().unwrap_or_default();
        asking.config.options(format!("{given} -c {SETTING}={value}"));
        match asking.plain().await {
            Ok(connection) => {
                let is_own = connection.shows(SHOW, &value).await?;
                Ok((connection, !is_own))
            }
            Err(error) if is_refusal(&error) => {
                let connection = self.plain().await?;
                self.refuses_setting.store(true, Ordering::Relaxed);
                Ok((connection, true))
            }
            Err(error) => Err(error.into()),
        }
    }
}

/// Whether the first message may have been refused for our setting.
fn is_refusal(error: &tokio_postgres::Error) -> bool {
    let states = [
        &SqlState::PROTOCOL_VIOLATION,
        &SqlState::FEATURE_NOT_SUPPORTED,
        &SqlState::UNDEFINED_OBJECT,
    ];
    error.code().is_some_and(|state| states.contains(&state))
}
