//! The part in front of the `?`: who connects to which database on which hosts.

use std::{borrow::Cow, fmt};

use tokio_postgres::Config;

/// The text is not the URL of a PostgreSQL store. One line says what would be right, and repeats none of the
/// text, as each part of it may be a password.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{0}")]
pub struct InvalidUrl(Cow<'static, str>);

impl InvalidUrl {
    pub(super) fn new(message: impl Into<Cow<'static, str>>) -> Self {
        Self(message.into())
    }

    /// Makes the error of a `%` without two hexadecimal digits, bytes that are not UTF-8, or a character that must be
    /// encoded.
    pub(super) fn encoding(part: &str) -> Self {
        Self::new(format!(
            "the {part} is not properly percent-encoded; write % as %25, & as %26, / as %2F, : as \
             %3A, ; as %3B, = as %3D, ? as %3F, @ as %40"
        ))
    }
}

const FORM: &str = "write postgres://USER:PASSWORD@HOST[:PORT][,HOST…]/DATABASE";
const NO_USER: &str = "no user is named; write postgres://USER:PASSWORD@HOST/DATABASE";
const NO_HOST: &str = "a host is missing; write postgres://USER:PASSWORD@HOST/DATABASE";
const NO_DATABASE: &str = "no database is named; write postgres://USER:PASSWORD@HOST/DATABASE";
const PORT: &str = "a port is not a number from 1 to 65535";
/// The port of a host that names none.
const DEFAULT_PORT: u16 = 5432;

/// One server.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct HostPort {
    /// A name, an address, or the directory of a Unix socket.
    pub(crate) host: String,
    pub(crate) port: u16,
}

/// Reads `postgres://USER[:PASSWORD]@HOST[:PORT][,HOST[:PORT]…]/DATABASE`. Returns the hosts.
pub(super) fn parse_address(url: &str, driver: &mut Config) -> Result<Vec<HostPort>, InvalidUrl> {
    let rest = url.strip_prefix("postgres://").or_else(|| url.strip_prefix("postgresql://"));
    let rest = rest.ok_or(InvalidUrl::new(FORM))?;
    // The last one: an @ that was not encoded belongs to the password.
    let (credential, place) = rest.rsplit_once('@').ok_or(InvalidUrl::new(NO_USER))?;
    let (user, password) =
        credential.split_once(':').map_or((credential, None), |(u, p)| (u, Some(p)));
    let (hosts, database) = place.split_once('/').ok_or(InvalidUrl::new(NO_DATABASE))?;
    if database.contains(':') {
        return Err(InvalidUrl::encoding("database"));
    }
    let hosts = hosts.split(',').map(HostPort::parse).collect::<Result<_, _>>()?;
    driver.user(decode_name(user, "user")?).dbname(decode_name(database, "database")?);
    if user.is_empty() {
        return Err(InvalidUrl::new(NO_USER));
    }
    if database.is_empty() {
        return Err(InvalidUrl::new(NO_DATABASE));
    }
    if let Some(password) = password {
        driver.password(decode(password, "password")?);
    }
    Ok(hosts)
}

impl HostPort {
    fn parse(text: &str) -> Result<Self, InvalidUrl> {
        let (host, port) = match text.strip_prefix('[').and_then(|rest| rest.split_once(']')) {
            Some((address, "")) => (address, None),
            Some((address, port)) => {
                (address, Some(port.strip_prefix(':').ok_or(InvalidUrl::new(FORM))?))
            }
            None => text.split_once(':').map_or((text, None), |(host, port)| (host, Some(port))),
        };
        let host = decode_name(host, "host")?;
        if host.is_empty() {
            return Err(InvalidUrl::new(NO_HOST));
        }
        let port = match port.map(str::parse) {
            None => DEFAULT_PORT,
            Some(Ok(port)) if port > 0 => port,
            Some(_) => return Err(InvalidUrl::new(PORT)),
        };
        Ok(Self { host, port })
    }

    pub(crate) fn is_unix(&self) -> bool {
        self.host.starts_with('/')
    }
}

impl fmt::Display for HostPort {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { host, port } = self;
        if host.contains(':') { write!(f, "[{host}]:{port}") } else { write!(f, "{host}:{port}") }
    }
}

/// Percent-decodes what may be shown. A character that would begin a parameter or a password elsewhere, as in
/// `DATABASE;password=…`, must be encoded to be a part of a name.
pub(super) fn decode_name(text: &str, part: &str) -> Result<String, InvalidUrl> {
    if text.contains([';', '&', '=']) {
        return Err(InvalidUrl::encoding(part));
    }
    decode(text, part)
}

/// Percent-decodes `text`, strictly. No control character can be meant.
pub(super) fn decode(text: &str, part: &str) -> Result<String, InvalidUrl> {
    let wrong = || InvalidUrl::encoding(part);
    let mut parts = text.split('%');
    let mut bytes = parts.next().unwrap_or_default().as_bytes().to_vec();
    for part in parts {
        let (digits, rest) = part.split_at_checked(2).ok_or_else(wrong)?;
        if !digits.bytes().all(|digit| digit.is_ascii_hexdigit()) {
            return Err(wrong());
        }
        bytes.push(u8::from_str_radix(digits, 16).map_err(|_| wrong())?);
        bytes.extend_from_slice(rest.as_bytes());
    }
    let text = String::from_utf8(bytes).map_err(|_| wrong())?;
    if text.chars().any(char::is_control) { Err(wrong()) } else { Ok(text) }
}
