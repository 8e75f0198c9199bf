//! What an operator can choose, all of it in one URL.

mod invalid_url;
mod parameters;
mod url;

#[cfg(test)]
mod tests;

use std::fmt;

pub use self::{invalid_url::InvalidUrl, parameters::SslMode};
pub(crate) use self::{
    parameters::Parameters,
    url::{Address, HostPort},
};

/// Which database to use, and how.
///
/// | parameter | default | what |
/// |---|---|---|
/// | `sslmode` | `prefer` | see [`SslMode`] |
/// | `sslrootcert` | the system's | a PEM file of the authorities that may sign the server's certificate |
/// | `connect_timeout` | `3s` | for connecting to one host, all of the handshake included |
/// | `statement_timeout` | `4s` | the server cancels a statement after this time |
/// | `call_timeout` | `5s` | a call as a whole, whatever the network does |
/// | `pool_timeout` | `1s` | the part of it that may be spent on waiting for a free connection |
/// | `tcp_user_timeout` | `5s` | the kernel closes a connection that acknowledges nothing (Linux) |
/// | `pool_size` | `16` | connections for reads, at most; writing and watching take two more |
/// | `target_session_attrs` | `read-write` | take only a host that accepts writes, or `any` |
/// | `schema` | the role's own | a schema to live in, created if need be |
/// | `application_name` | `petstore` | how the server lists the sessions |
/// | `options` | none | settings of the session (`-c name=value`), or what a provider's proxy wants |
/// | `channel_binding` | `prefer` | `disable`, `prefer` or `require`: the password is bound to the TLS connection |
/// | `pgbouncer` | found out | `true`: a pooler gives the session to others between two transactions; `false`: the session is this connection's |
///
/// Times are written `3s` or `500ms`; a bare number has the unit that libpq gives it: seconds for
/// `connect_timeout`, milliseconds for the others.
#[derive(Clone, PartialEq, Eq)]
pub struct PostgresConfig {
    /// In front of the `?`.
    pub(crate) address: Address,
    /// Behind it.
    pub(crate) parameters: Parameters,
}

impl PostgresConfig {
    /// Reads `postgres://USER[:PASSWORD]@HOST[:PORT][,HOST[:PORT]…]/DATABASE[?PARAMETER=VALUE&…]`.
    ///
    /// User, password, database and values may be percent-encoded; a host that is the directory of
    /// a Unix socket must be (`%2Frun%2Fpostgresql`).
    ///
    /// # Errors
    /// [`InvalidUrl`]; no message repeats any of the text.
    pub fn parse(url: &str) -> Result<Self, InvalidUrl> {
        let (address, query) = url.split_once('?').map_or((url, None), |(a, q)| (a, Some(q)));
        let parsed = Address::parse(address).and_then(|address| {
            let parameters = query.map_or_else(|| Ok(Parameters::default()), Parameters::parse)?;
            Ok(Self { address, parameters })
        });
        // An @ behind the ? most likely ends a password that was not encoded.
        let has_at = query.is_some_and(|query| query.contains('@'));
        parsed.map_err(|fault| if has_at { InvalidUrl::Encoding("password") } else { fault })
    }
}

impl fmt::Display for PostgresConfig {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}", self.address)?;
        self.parameters.schema.as_ref().map_or(Ok(()), |schema| write!(f, "?schema={schema}"))
    }
}

impl fmt::Debug for PostgresConfig {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "PostgresConfig({self}, {:?})", self.parameters)
    }
}
