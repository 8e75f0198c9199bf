//! The part behind the `?`.

use std::{path::PathBuf, time::Duration};

use tokio_postgres::config::ChannelBinding;

use super::{
    invalid_url::InvalidUrl,
    url::{decode, decode_name},
};

/// Every parameter there is.
pub(super) const NAMES: [&str; 14] = [
    "sslmode",
    "sslrootcert",
    "connect_timeout",
    "statement_timeout",
    "call_timeout",
    "pool_timeout",
    "tcp_user_timeout",
    "pool_size",
    "target_session_attrs",
    "schema",
    "pgbouncer",
    "application_name",
    "options",
    "channel_binding",
];

const DURATION: &str = "it is a time from 1ms to 1h such as 3s or 500ms";
/// The longest time that a parameter may be.
const MAX_DURATION: Duration = Duration::from_hours(1);
/// The largest pool.
const MAX_CONNECTIONS: usize = 1000;
/// The longest name of a schema, in bytes: PostgreSQL cuts off the rest.
const MAX_SCHEMA_BYTES: usize = 63;

/// The settings of a store.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Parameters {
    pub(crate) ssl_mode: SslMode,
    pub(crate) root_certificates: Option<PathBuf>,
    pub(crate) connect_timeout: Duration,
    pub(crate) statement_timeout: Duration,
    pub(crate) call_timeout: Duration,
    pub(crate) pool_timeout: Duration,
    pub(crate) tcp_user_timeout: Duration,
    pub(crate) pool_size: usize,
    /// Whether a host that refuses writes is passed over.
    pub(crate) read_write: bool,
    pub(crate) schema: Option<String>,
    /// Whether a pooler gives the session to others between two transactions; found out if `None`.
    pub(crate) shared_session: Option<bool>,
    /// As the server lists its sessions.
    pub(crate) application_name: String,
    /// Settings as a server's command line has them, or what a provider's proxy wants.
    pub(crate) options: Option<String>,
    pub(crate) channel_binding: ChannelBinding,
}

impl Default for Parameters {
    fn default() -> Self {
        Self {
            ssl_mode: SslMode::Prefer,
            root_certificates: None,
            connect_timeout: Duration::from_secs(3),
            statement_timeout: Duration::from_secs(4),
            call_timeout: Duration::from_secs(5),
            pool_timeout: Duration::from_secs(1),
            tcp_user_timeout: Duration::from_secs(5),
            pool_size: 16,
            read_write: true,
            schema: None,
            shared_session: None,
            application_name: "petstore".to_owned(),
            options: None,
            channel_binding: ChannelBinding::Prefer,
        }
    }
}

/// How the connection to the server is secured (`sslmode`).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SslMode {
    /// `disable`: in clear.
    Disable,
    /// `prefer`: encrypted if the server can, without checking who it is. Protects against
    /// listeners only.
    Prefer,
    /// `verify-ca`: encrypted, and the certificate must be signed by a known authority, whatever host it
    /// names.
    VerifyCa,
    /// `require` or `verify-full`, which are one here: encrypted, and the certificate must be
    /// signed by a known authority and name the host. Stricter than libpq's `require`, which takes
    /// any certificate.
    VerifyFull,
}

impl Parameters {
    pub(super) fn parse(query: &str) -> Result<Self, InvalidUrl> {
        let mut parameters = Self::default();
        let mut seen = Vec::new();
        for (index, pair) in query.split('&').enumerate() {
            let (name, value) = pair.split_once('=').unwrap_or((pair, ""));
            let Some(name) = NAMES.into_iter().find(|known| *known == name) else {
                return Err(InvalidUrl::UnknownParameter { position: index + 1, known: &NAMES });
            };
            if seen.contains(&name) {
                return Err(InvalidUrl::RepeatedParameter(name));
            }
            seen.push(name);
            // Providers write it as it is.
            let read = if name == "options" { decode } else { decode_name };
            let value = read(value, name)?;
            parameters.set(name, &value).map_err(|allowed| InvalidUrl::Value { name, allowed })?;
        }
        Ok(parameters)
    }

    /// Sets one parameter. The error says what would be right.
    fn set(&mut self, name: &str, value: &str) -> Result<(), &'static str> {
        let seconds = |value| duration(value, Duration::from_secs);
        let millis = |value| duration(value, Duration::from_millis);
        match name {
            "sslmode" => self.ssl_mode = ssl_mode(value)?,
            "sslrootcert" if value.is_empty() => return Err("it is the path of a PEM file"),
            "sslrootcert" => self.root_certificates = Some(value.into()),
            "connect_timeout" => self.connect_timeout = seconds(value)?,
            "statement_timeout" => self.statement_timeout = millis(value)?,
            "call_timeout" => self.call_timeout = millis(value)?,
            "pool_timeout" => self.pool_timeout = millis(value)?,
            "tcp_user_timeout" => self.tcp_user_timeout = millis(value)?,
            "pool_size" => self.pool_size = pool_size(value)?,
            "target_session_attrs" => self.read_write = read_write(value)?,
            "schema" => self.schema = Some(schema(value)?),
            "pgbouncer" => self.shared_session = Some(pgbouncer(value)?),
            "application_name" => value.clone_into(&mut self.application_name),
            "options" => self.options = Some(value.to_owned()),
            _ => self.channel_binding = channel_binding(value)?,
        }
        Ok(())
    }
}

fn ssl_mode(value: &str) -> Result<SslMode, &'static str> {
    match value {
        "disable" => Ok(SslMode::Disable),
        "prefer" => Ok(SslMode::Prefer),
        "verify-ca" => Ok(SslMode::VerifyCa),
        "require" | "verify-full" => Ok(SslMode::VerifyFull),
        _ => Err("it is disable, prefer, verify-ca, require or verify-full"),
    }
}

fn channel_binding(value: &str) -> Result<ChannelBinding, &'static str> {
    match value {
        "disable" => Ok(ChannelBinding::Disable),
        "prefer" => Ok(ChannelBinding::Prefer),
        "require" => Ok(ChannelBinding::Require),
        _ => Err("it is disable, prefer or require"),
    }
}

fn read_write(value: &str) -> Result<bool, &'static str> {
    match value {
        "read-write" => Ok(true),
        "any" => Ok(false),
        _ => Err("it is read-write or any"),
    }
}

fn pgbouncer(value: &str) -> Result<bool, &'static str> {
    value.parse().map_err(|_| "it is true or false")
}

fn pool_size(value: &str) -> Result<usize, &'static str> {
    let size = value.parse().ok().filter(|size| (1..=MAX_CONNECTIONS).contains(size));
    size.ok_or("it is a number of connections from 1 to 1000")
}

fn schema(value: &str) -> Result<String, &'static str> {
    let reserved = value.is_empty() || value.starts_with("pg_") || value.len() > MAX_SCHEMA_BYTES;
    if reserved {
        return Err("it is a name of 1 to 63 bytes that does not begin with pg_");
    }
    Ok(value.to_owned())
}

fn duration(value: &str, bare: impl Fn(u64) -> Duration) -> Result<Duration, &'static str> {
    let unit = value.trim_start_matches(|c: char| c.is_ascii_digit());
    let number: u64 = value[..value.len() - unit.len()].parse().map_err(|_| DURATION)?;
    // Before it is multiplied, so that nothing overflows.
    let number = Some(number).filter(|number| *number <= 3_600_000).ok_or(DURATION)?;
    let duration = match unit {
        "" => bare(number),
        "ms" => Duration::from_millis(number),
        "s" => Duration::from_secs(number),
        "min" => Duration::from_secs(number * 60),
        _ => return Err(DURATION),
    };
    if duration.is_zero() || duration > MAX_DURATION { Err(DURATION) } else { Ok(duration) }
}
