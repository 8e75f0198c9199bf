//! The URL of a store, which is its whole configuration.

#[cfg(test)]
mod tests;

use std::{fmt, path::PathBuf, time::Duration};

use petstore_storage::url::{Address, HostPort, InvalidUrl, duration, parameters};

/// The names of the parameters.
const NAMES: &str =
    "sslmode, sslrootcert, sslcert, sslkey, connect_timeout, request_timeout, call_timeout";
const FORM: &str = "write etcd://[USER:PASSWORD@]HOST[:PORT][,HOST…]/PREFIX";
const PREFIX: &str = "the prefix behind the host is 1 to 63 letters, digits, '.', '_' or '-'; write etcd://HOST/PREFIX";
const NO_PASSWORD: &str =
    "user and password belong together; write etcd://USER:PASSWORD@HOST/PREFIX";
const FILE: &str = "use the path of a PEM file";
const UNUSED_FILES: &str = "sslrootcert, sslcert and sslkey need sslmode=verify-full";
/// The longest prefix.
const MAX_PREFIX: usize = 63;
/// The port of a host whose URL has no port.
const DEFAULT_PORT: u16 = 2379;

/// The nodes, the prefix, and the parameters of a URL.
///
/// | parameter | default | meaning |
/// |---|---|---|
/// | `sslmode` | `disable` | `disable`: not encrypted; `verify-full`, `require`: encrypted, and the certificate must be signed by a known authority and name the host |
/// | `sslrootcert` | the system's | a PEM file of the authorities that may sign the nodes' certificates |
/// | `sslcert`, `sslkey` | none | PEM files of the client certificate, with its chain, and of its key |
/// | `connect_timeout` | `1s` | the time limit for connecting to one node |
/// | `request_timeout` | `1s` | the time limit for the answer of one node; then the next node is asked |
/// | `call_timeout` | `5s` | the time limit for a call as a whole |
///
/// Times are written `3s` or `500ms`. A bare number is seconds for `connect_timeout`, as in libpq, and milliseconds for
/// the others.
#[derive(Clone, PartialEq, Eq)]
pub struct EtcdConfig {
    /// The nodes, in the order in which they are tried.
    pub(crate) hosts: Vec<HostPort>,
    pub(crate) credential: Option<(String, String)>,
    /// The prefix of every key, with a `/` at the end.
    pub(crate) prefix: String,
    pub(crate) is_encrypted: bool,
    pub(crate) root_certificates: Option<PathBuf>,
    pub(crate) certificate: Option<PathBuf>,
    pub(crate) key: Option<PathBuf>,
    pub(crate) connect_timeout: Duration,
    pub(crate) request_timeout: Duration,
    pub(crate) call_timeout: Duration,
}

impl EtcdConfig {
    /// Parses `etcd://[USER:PASSWORD@]HOST[:PORT][,HOST[:PORT]…]/PREFIX[?PARAMETER=VALUE&…]`.
    ///
    /// User, password and values may be percent-encoded. A prefix has no `/`, so that no store is within another.
    ///
    /// # Errors
    /// [`InvalidUrl`]. No message repeats any of `url`, except the name of a known parameter.
    pub fn parse(url: &str) -> Result<Self, InvalidUrl> {
        Address::parse(url, &["etcd://"], DEFAULT_PORT, FORM, |address, query| {
            let mut config = Self::new(address)?;
            if let Some(query) = query {
                parameters(query, NAMES, "", |name, value| config.set(name, value))?;
            }
            let files = [&config.root_certificates, &config.certificate, &config.key];
            if !config.is_encrypted && files.iter().any(|file| file.is_some()) {
                return Err(InvalidUrl::new(UNUSED_FILES));
            }
            if config.certificate.is_some() != config.key.is_some() {
                return Err(InvalidUrl::new("sslcert and sslkey belong together"));
            }
            Ok(config)
        })
    }

    fn new(Address { user, password, hosts, name: prefix }: Address) -> Result<Self, InvalidUrl> {
        let is_half = user.as_ref().is_some_and(String::is_empty)
            || password.as_ref().is_none_or(String::is_empty);
        if user.is_some() && is_half {
            return Err(InvalidUrl::new(NO_PASSWORD));
        }
        let is_allowed = |byte: u8| byte.is_ascii_alphanumeric() || b"._-".contains(&byte);
        if !(1..=MAX_PREFIX).contains(&prefix.len()) || !prefix.bytes().all(is_allowed) {
            return Err(InvalidUrl::new(PREFIX));
        }
        Ok(Self {
            hosts,
            credential: user.zip(password),
            prefix: format!("{prefix}/"),
            is_encrypted: false,
            root_certificates: None,
            certificate: None,
            key: None,
            connect_timeout: Duration::from_secs(1),
            request_timeout: Duration::from_secs(1),
            call_timeout: Duration::from_secs(5),
        })
    }

    /// Sets one parameter. The error says what to write. It does not name `require`, which means the same as
    /// `verify-full`.
    fn set(&mut self, name: &str, value: &str) -> Result<(), &'static str> {
        let seconds = |value| duration(value, Duration::from_secs);
        let millis = |value| duration(value, Duration::from_millis);
        let file = || if value.is_empty() { Err(FILE) } else { Ok(Some(value.into())) };
        match name {
            "sslmode" => {
                self.is_encrypted = match value {
                    "disable" => false,
                    "require" | "verify-full" => true,
                    _ => return Err("use disable or verify-full"),
                };
            }
            "sslrootcert" => self.root_certificates = file()?,
            "sslcert" => self.certificate = file()?,
            "sslkey" => self.key = file()?,
            "connect_timeout" => self.connect_timeout = seconds(value)?,
            "request_timeout" => self.request_timeout = millis(value)?,
            _ => self.call_timeout = millis(value)?,
        }
        Ok(())
    }
}

impl fmt::Display for EtcdConfig {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let hosts: Vec<_> = self.hosts.iter().map(ToString::to_string).collect();
        let user = self.credential.as_ref().map(|(user, _)| format!("{user}:…@"));
        let prefix = self.prefix.trim_end_matches('/');
        write!(f, "etcd://{}{}/{prefix}", user.unwrap_or_default(), hosts.join(","))
    }
}

impl fmt::Debug for EtcdConfig {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "EtcdConfig({self})")
    }
}
