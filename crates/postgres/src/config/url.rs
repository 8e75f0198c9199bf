//! Reads the URL.

use super::{HostPort, Parameters, PostgresConfig};

/// The port of a host that names none.
const PORT: u16 = 5432;

/// The text is not the URL of a PostgreSQL store. One line says what would be right; none repeats
/// what may be a password.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum InvalidUrl {
    /// Not of this form at all.
    #[error("write postgres://USER:PASSWORD@HOST[:PORT][,HOST…]/DATABASE")]
    Form,
    /// Nothing in front of an `@`.
    #[error("no user is named; write postgres://USER:PASSWORD@HOST/DATABASE")]
    NoUser,
    /// An empty host.
    #[error("a host is missing; write postgres://USER:PASSWORD@HOST/DATABASE")]
    NoHost,
    /// No path.
    #[error("no database is named; write postgres://USER:PASSWORD@HOST/DATABASE")]
    NoDatabase,
    /// Not a number from 1 to 65535.
    #[error("the port of the host '{0}' is not a number from 1 to 65535")]
    Port(String),
    /// A `%` without two hexadecimal digits, or bytes that are not UTF-8.
    #[error("the {0} is not properly percent-encoded; write % as %25, @ as %40, / as %2F")]
    Encoding(&'static str),
    /// A parameter that does not exist.
    #[error("there is no parameter '{0}'; there are {allowed}", allowed = super::parameters::NAMES.join(", "))]
    UnknownParameter(String),
    /// A parameter that is given twice.
    #[error("{0} is given twice; give it once")]
    RepeatedParameter(&'static str),
    /// A parameter with a value that it cannot have.
    #[error("{name} cannot be '{value}'; {allowed}")]
    Value {
        /// Of the parameter.
        name: &'static str,
        /// As it was given.
        value: String,
        /// What would be right.
        allowed: &'static str,
    },
}

pub(super) fn parse(url: &str) -> Result<PostgresConfig, InvalidUrl> {
    let rest = url.strip_prefix("postgres://").or_else(|| url.strip_prefix("postgresql://"));
    let rest = rest.ok_or(InvalidUrl::Form)?;
    let (address, query) = rest.split_once('?').map_or((rest, None), |(a, q)| (a, Some(q)));
    // The last one: an @ that somebody forgot to encode belongs to the password.
    let (credential, place) = address.rsplit_once('@').ok_or(InvalidUrl::NoUser)?;
    let (user, password) =
        credential.split_once(':').map_or((credential, None), |(u, p)| (u, Some(p)));
    let (hosts, database) = place.split_once('/').ok_or(InvalidUrl::NoDatabase)?;
    let config = PostgresConfig {
        hosts: hosts.split(',').map(host).collect::<Result<_, _>>()?,
        user: decode(user, "user")?,
        password: password.map(|text| decode(text, "password")).transpose()?,
        database: decode(database, "database")?,
        parameters: query.map_or_else(|| Ok(Parameters::default()), super::parameters::parse)?,
    };
    if config.user.is_empty() {
        return Err(InvalidUrl::NoUser);
    }
    if config.database.is_empty() {
        return Err(InvalidUrl::NoDatabase);
    }
    Ok(config)
}

fn host(text: &str) -> Result<HostPort, InvalidUrl> {
    let (host, port) = match text.strip_prefix('[').and_then(|rest| rest.split_once(']')) {
        Some((address, "")) => (address, None),
        Some((address, port)) => (address, Some(port.strip_prefix(':').ok_or(InvalidUrl::Form)?)),
        None => text.split_once(':').map_or((text, None), |(host, port)| (host, Some(port))),
    };
    let host = decode(host, "host")?;
    if host.is_empty() {
        return Err(InvalidUrl::NoHost);
    }
    let port = match port.map(str::parse) {
        None => PORT,
        Some(Ok(port)) if port > 0 => port,
        Some(_) => return Err(InvalidUrl::Port(host)),
    };
    Ok(HostPort { host, port })
}

/// Percent-decodes `text`. No control character can be meant.
pub(super) fn decode(text: &str, what: &'static str) -> Result<String, InvalidUrl> {
    let wrong = || InvalidUrl::Encoding(what);
    let mut bytes = Vec::with_capacity(text.len());
    let mut rest = text.as_bytes();
    while let Some((&first, behind)) = rest.split_first() {
        rest = behind;
        if first != b'%' {
            bytes.push(first);
            continue;
        }
        let (digits, behind) = rest.split_at_checked(2).ok_or_else(wrong)?;
        let value = |digit: u8| char::from(digit).to_digit(16);
        let (high, low) = value(digits[0]).zip(value(digits[1])).ok_or_else(wrong)?;
        bytes.push(u8::try_from(high * 16 + low).map_err(|_| wrong())?);
        rest = behind;
    }
    let text = String::from_utf8(bytes).map_err(|_| wrong())?;
    if text.chars().any(char::is_control) { Err(wrong()) } else { Ok(text) }
}
