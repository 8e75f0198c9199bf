//! What an operator can choose, all of it in one URL.

mod parameters;
mod url;

#[cfg(test)]
mod tests;

use std::{fmt, path::PathBuf, time::Duration};

pub use self::url::InvalidUrl;

/// Which database to use, and how.
///
/// | parameter | default | what |
/// |---|---|---|
/// | `sslmode` | `prefer` | see [`SslMode`] |
/// | `sslrootcert` | the system's | a PEM file of the authorities that may sign the server's certificate |
/// | `connect_timeout` | `3s` | for connecting to one host, all of the handshake included |
/// | `statement_timeout` | `4s` | the server gives up a statement after this time |
/// | `call_timeout` | `5s` | a call as a whole, whatever the network does |
/// | `pool_timeout` | `1s` | the part of it that may be spent on waiting for a free connection |
/// | `tcp_user_timeout` | `5s` | the kernel gives up a connection that acknowledges nothing (Linux) |
/// | `pool_size` | `16` | connections for reads; writing and watching take two more |
/// | `target_session_attrs` | `read-write` | take only a host that accepts writes, or `any` |
/// | `schema` | the role's own | a schema to live in, created if need be |
///
/// Times are written `3s` or `500ms`; a bare number has the unit that libpq gives it: seconds for
/// `connect_timeout`, milliseconds for the others.
#[derive(Clone, PartialEq, Eq)]
pub struct PostgresConfig {
    /// In the order in which they are tried.
    pub(crate) hosts: Vec<HostPort>,
    pub(crate) user: String,
    /// Neither `Debug` nor `Display` shows it.
    pub(crate) password: Option<String>,
    pub(crate) database: String,
    pub(crate) parameters: Parameters,
}

/// What stands behind the `?`.
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
        }
    }
}

/// How the way to the server is secured (`sslmode`).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SslMode {
    /// `disable`: in clear.
    Disable,
    /// `prefer`: encrypted if the server can, without asking who it is. Keeps out who only listens.
    Prefer,
    /// `require` or `verify-full`, which are one here: encrypted, and the certificate must be
    /// signed by a known authority and name the host. Stricter than libpq's `require`, which takes
    /// any certificate.
    VerifyFull,
}

/// One server.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct HostPort {
    /// A name, an address, or the folder of a Unix socket.
    pub(crate) host: String,
    pub(crate) port: u16,
}

impl HostPort {
    pub(crate) fn is_unix(&self) -> bool {
        self.host.starts_with('/')
    }
}

impl PostgresConfig {
    /// Reads `postgres://USER[:PASSWORD]@HOST[:PORT][,HOST[:PORT]…]/DATABASE[?PARAMETER=VALUE&…]`.
    ///
    /// User, password, database and values may be percent-encoded; a host that is a folder of a
    /// Unix socket must be (`%2Frun%2Fpostgresql`).
    ///
    /// # Errors
    /// [`InvalidUrl`]; no message repeats the password.
    pub fn parse(url: &str) -> Result<Self, InvalidUrl> {
        url::parse(url)
    }
}

impl fmt::Display for PostgresConfig {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "postgres://{}", self.user)?;
        if self.password.is_some() {
            f.write_str(":…")?;
        }
        for (index, host) in self.hosts.iter().enumerate() {
            write!(f, "{}{host}", if index == 0 { '@' } else { ',' })?;
        }
        write!(f, "/{}", self.database)?;
        self.parameters.schema.as_ref().map_or(Ok(()), |schema| write!(f, "?schema={schema}"))
    }
}

impl fmt::Display for HostPort {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { host, port } = self;
        if host.contains(':') { write!(f, "[{host}]:{port}") } else { write!(f, "{host}:{port}") }
    }
}

impl fmt::Debug for PostgresConfig {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "PostgresConfig({self}, {:?})", self.parameters)
    }
}
