//! The URL of a store, which is its whole configuration.

#[cfg(test)]
mod tests;

use std::{fmt, path::PathBuf, time::Duration};

use petstore_storage::url::{Address, HostPort, InvalidUrl, decode_name, duration, parameters};
use tokio_postgres::{
    Config,
    config::{ChannelBinding, SslMode, TargetSessionAttrs},
};

/// The parameters, as an error message lists them.
const NAMES: &str = "sslmode, sslrootcert, connect_timeout, statement_timeout, call_timeout, pool_timeout, \
    tcp_user_timeout, pool_size, target_session_attrs, schema, pgbouncer, application_name, options, \
    channel_binding";

const FORM: &str = "write postgres://USER:PASSWORD@HOST[:PORT][,HOST…]/DATABASE";
const NO_USER: &str = "no user is named; write postgres://USER:PASSWORD@HOST/DATABASE";
const NO_DATABASE: &str = "no database is named; write postgres://USER:PASSWORD@HOST/DATABASE";
/// The port of a host whose URL has no port.
const DEFAULT_PORT: u16 = 5432;
const ANY_OF_SEVERAL: &str = "target_session_attrs=any takes one host: reads of several servers would go back in time; \
    name one, or write target_session_attrs=read-write";

/// The time after which the kernel probes a silent server.
const KEEPALIVE: Duration = Duration::from_secs(10);
/// The largest `pool_size`.
const MAX_CONNECTIONS: usize = 1000;
/// The longest name of a schema in bytes. PostgreSQL truncates longer names.
const MAX_SCHEMA: usize = 63;

/// The hosts, the database, and the parameters of a URL.
///
/// | parameter | default | meaning |
/// |---|---|---|
/// | `sslmode` | `prefer` | the security of the connection, see below |
/// | `sslrootcert` | the system's | a PEM file of the authorities that may sign the server's certificate |
/// | `connect_timeout` | `3s` | the time limit for connecting to one host, with the whole handshake |
/// | `statement_timeout` | `4s` | the server cancels a statement after this time |
/// | `call_timeout` | `5s` | the time limit for a call as a whole |
/// | `pool_timeout` | `1s` | the time limit for the wait for a free connection, within `call_timeout` |
/// | `tcp_user_timeout` | `5s` | the kernel closes a connection after this time without an acknowledgment (Linux) |
/// | `pool_size` | `16` | connections for single statements, at most; additions and transactions use others |
/// | `target_session_attrs` | `read-write` | `read-write`: only a host that accepts writes; `any`: the one host of the URL |
/// | `schema` | the first of the role's `search_path` | the schema of the tables, created if it does not exist |
/// | `application_name` | `petstore` | the name of the sessions in the server's lists |
/// | `options` | none | settings of the session (`-c name=value`), or options for a provider's proxy |
/// | `channel_binding` | `prefer` | `disable`, `prefer` or `require`: binds the password to the TLS connection |
/// | `pgbouncer` | detected | `true`: a pooler lends sessions for a transaction; `false`: each connection has its own session |
///
/// `sslmode` is one of these:
/// - `disable`: not encrypted.
/// - `prefer`: encrypted if the server supports it, without a check of its certificate. Protects against listeners
///   only.
/// - `verify-ca`: encrypted, and the certificate must be signed by a known authority, but may name any host.
/// - `require` or `verify-full`, which mean the same here: encrypted, and the certificate must be signed by a known
///   authority and name the host. libpq's `require` accepts any certificate.
///
/// Times are written `3s` or `500ms`. A bare number has the unit of libpq: seconds for `connect_timeout`, milliseconds
/// for the others.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PostgresConfig {
    /// The hosts, in the order of the URL.
    pub(crate) hosts: Vec<HostPort>,
    /// The settings of the driver for every host. Its `Debug` hides the password.
    pub(crate) driver: Config,
    /// `true` if the server's certificate may name another host.
    pub(crate) allows_any_host: bool,
    pub(crate) root_certificates: Option<PathBuf>,
    pub(crate) connect_timeout: Duration,
    pub(crate) statement_timeout: Duration,
    pub(crate) call_timeout: Duration,
    pub(crate) pool_timeout: Duration,
    pub(crate) pool_size: usize,
    pub(crate) schema: Option<String>,
    /// `true` if a pooler lends sessions for a transaction; detected if `None`.
    pub(crate) shared_session: Option<bool>,
}

impl PostgresConfig {
    /// Parses `postgres://USER[:PASSWORD]@HOST[:PORT][,HOST[:PORT]…]/DATABASE[?PARAMETER=VALUE&…]`.
    ///
    /// User, password, database and values may be percent-encoded. A directory of a Unix socket must be percent-encoded
    /// (`%2Frun%2Fpostgresql`).
    ///
    /// # Errors
    /// [`InvalidUrl`]. No message repeats any part of the URL.
    pub fn parse(url: &str) -> Result<Self, InvalidUrl> {
        let schemes = ["postgres://", "postgresql://"];
        Address::parse(url, &schemes, DEFAULT_PORT, FORM, |address, query| {
            let mut config = Self::new(address)?;
            if let Some(query) = query {
                // Providers write `options` without percent-encoding.
                parameters(query, NAMES, "options", |name, value| config.set(name, value))?;
            }
            let is_any = config.driver.get_target_session_attrs() == TargetSessionAttrs::Any;
            if is_any && config.hosts.len() > 1 {
                return Err(InvalidUrl::new(ANY_OF_SEVERAL));
            }
            Ok(config)
        })
    }

    fn new(Address { user, password, hosts, name }: Address) -> Result<Self, InvalidUrl> {
        let user = user.filter(|user| !user.is_empty()).ok_or(InvalidUrl::new(NO_USER))?;
        if name.is_empty() {
            return Err(InvalidUrl::new(NO_DATABASE));
        }
        if name.contains(':') {
            return Err(InvalidUrl::encoding("database"));
        }
        let mut driver = Config::new();
        driver.user(user).dbname(decode_name(&name, "database")?);
        if let Some(password) = password {
            driver.password(password);
        }
        driver.application_name("petstore").target_session_attrs(TargetSessionAttrs::ReadWrite);
        driver.tcp_user_timeout(Duration::from_secs(5)).keepalives_idle(KEEPALIVE);
        Ok(Self {
            hosts,
            driver,
            allows_any_host: false,
            root_certificates: None,
            connect_timeout: Duration::from_secs(3),
            statement_timeout: Duration::from_secs(4),
            call_timeout: Duration::from_secs(5),
            pool_timeout: Duration::from_secs(1),
            pool_size: 16,
            schema: None,
            shared_session: None,
        })
    }

    /// Sets one parameter. The error names the allowed values.
    fn set(&mut self, name: &str, value: &str) -> Result<(), &'static str> {
        let seconds = |value| duration(value, Duration::from_secs);
        let millis = |value| duration(value, Duration::from_millis);
        match name {
            "sslmode" => {
                self.driver.ssl_mode(match value {
                    "disable" => SslMode::Disable,
                    "prefer" => SslMode::Prefer,
                    "verify-ca" | "require" | "verify-full" => SslMode::Require,
                    _ => return Err("use disable, prefer, verify-ca, require or verify-full"),
                });
                self.allows_any_host = value == "verify-ca";
            }
            "sslrootcert" if value.is_empty() => return Err("use the path of a PEM file"),
            "sslrootcert" => self.root_certificates = Some(value.into()),
            "connect_timeout" => self.connect_timeout = seconds(value)?,
            "statement_timeout" => self.statement_timeout = millis(value)?,
            "call_timeout" => self.call_timeout = millis(value)?,
            "pool_timeout" => self.pool_timeout = millis(value)?,
            "tcp_user_timeout" => drop(self.driver.tcp_user_timeout(millis(value)?)),
            "pool_size" => {
                let size = value.parse().ok().filter(|size| (1..=MAX_CONNECTIONS).contains(size));
                self.pool_size = size.ok_or("use a number of connections from 1 to 1000")?;
            }
            "target_session_attrs" => drop(self.driver.target_session_attrs(match value {
                "read-write" => TargetSessionAttrs::ReadWrite,
                "any" => TargetSessionAttrs::Any,
                _ => return Err("use read-write or any"),
            })),
            "schema"
                if value.is_empty() || value.starts_with("pg_") || value.len() > MAX_SCHEMA =>
            {
                return Err("use a name of 1 to 63 bytes that does not begin with pg_");
            }
            "schema" => self.schema = Some(value.to_owned()),
            "pgbouncer" => {
                self.shared_session = Some(value.parse().map_err(|_| "use true or false")?);
            }
            "application_name" => drop(self.driver.application_name(value)),
            "options" => drop(self.driver.options(value)),
            _ => drop(self.driver.channel_binding(match value {
                "disable" => ChannelBinding::Disable,
                "prefer" => ChannelBinding::Prefer,
                "require" => ChannelBinding::Require,
                _ => return Err("use disable, prefer or require"),
            })),
        }
        Ok(())
    }
}

impl fmt::Display for PostgresConfig {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let user = self.driver.get_user().unwrap_or_default();
        let password = if self.driver.get_password().is_some() { ":…" } else { "" };
        let hosts: Vec<_> = self.hosts.iter().map(ToString::to_string).collect();
        let database = self.driver.get_dbname().unwrap_or_default();
        write!(f, "postgres://{user}{password}@{}/{database}", hosts.join(","))?;
        self.schema.as_ref().map_or(Ok(()), |schema| write!(f, "?schema={schema}"))
    }
}
