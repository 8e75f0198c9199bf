//! The URL of a store on a network: hosts, percent-encoding, parameters and times.

#[cfg(test)]
mod tests;

use std::{borrow::Cow, fmt, time::Duration};

const DURATION: &str = "use a time from 1ms to 60min such as 3s or 500ms";
/// The longest time that a parameter may set.
const MAX_DURATION: Duration = Duration::from_hours(1);
const PORT: &str = "a port is not a number from 1 to 65535";

/// The error of a text that is not a store URL. The message is one line about the correct form. The message repeats no
/// part of the text, because any part may be a password.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{0}")]
pub struct InvalidUrl(Cow<'static, str>);

impl InvalidUrl {
    /// Makes an error with this message.
    pub fn new(message: impl Into<Cow<'static, str>>) -> Self {
        Self(message.into())
    }

    /// Makes the error of a wrong percent-encoding: a `%` without two hexadecimal digits, bytes that are not UTF-8, or
    /// a character that must be encoded.
    #[must_use]
    pub fn encoding(part: &str) -> Self {
        Self::new(format!(
            "the {part} is not properly percent-encoded; write % as %25, & as %26, / as %2F, : as \
             %3A, ; as %3B, = as %3D, ? as %3F, @ as %40"
        ))
    }
}

/// The parts of a URL in front of the `?`.
#[derive(Debug)]
pub struct Address {
    /// The decoded user, if there is an `@`.
    pub user: Option<String>,
    /// The decoded password, if there is a `:` behind the user.
    pub password: Option<String>,
    /// The servers.
    pub hosts: Vec<HostPort>,
    /// The text behind the hosts, not decoded; empty if there is no `/`.
    pub name: String,
}

impl Address {
    /// Parses `SCHEME[USER[:PASSWORD]@]HOST[:PORT][,HOST[:PORT]…]/NAME`, and calls `finish` with the address and with
    /// the text behind the `?`. `port` is the port of a host without `:PORT`. `form` is a hint for the message: `write
    /// …`.
    ///
    /// # Errors
    /// [`InvalidUrl`].
    pub fn parse<T>(
        url: &str,
        schemes: &[&str],
        port: u16,
        form: &'static str,
        finish: impl FnOnce(Self, Option<&str>) -> Result<T, InvalidUrl>,
    ) -> Result<T, InvalidUrl> {
        let (address, query) = url.split_once('?').map_or((url, None), |(a, q)| (a, Some(q)));
        let parsed = || {
            let rest = schemes.iter().find_map(|scheme| address.strip_prefix(scheme));
            let rest = rest.ok_or(InvalidUrl::new(form))?;
            // The password may contain an @ that is not encoded, so the last @ counts.
            let (credential, place) =
                rest.rsplit_once('@').map_or((None, rest), |(who, place)| (Some(who), place));
            let (user, password) = credential
                .map(|who| who.split_once(':').map_or((who, None), |(u, p)| (u, Some(p))))
                .unzip();
            let (hosts, name) = place.split_once('/').unwrap_or((place, ""));
            let host = |text| HostPort::parse(text, port, form);
            Ok(Self {
                hosts: hosts.split(',').map(host).collect::<Result<_, _>>()?,
                user: user.map(|user| decode_name(user, "user")).transpose()?,
                password: password.flatten().map(|text| decode(text, "password")).transpose()?,
                name: name.to_owned(),
            })
        };
        // An @ behind the ? most likely ends a password that is not encoded.
        let has_at = query.is_some_and(|query| query.contains('@'));
        let finished = parsed().and_then(|address| finish(address, query));
        finished.map_err(|error| if has_at { InvalidUrl::encoding("password") } else { error })
    }
}

/// The address of one server.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct HostPort {
    /// A host name, an IP address, or the directory of a Unix socket.
    pub host: String,
    /// The TCP port.
    pub port: u16,
}

impl HostPort {
    fn parse(text: &str, default_port: u16, form: &'static str) -> Result<Self, InvalidUrl> {
        let bracketed = text.strip_prefix('[').and_then(|rest| rest.split_once(']'));
        let end = text.find(':').unwrap_or(text.len());
        let (host, port) = bracketed.unwrap_or_else(|| text.split_at(end));
        let host = decode_name(host, "host")?;
        if host.is_empty() {
            return Err(InvalidUrl::new(format!("a host is missing; {form}")));
        }
        let port = match port.strip_prefix(':').map(str::parse) {
            Some(Ok(port)) if port > 0 => port,
            Some(_) => return Err(InvalidUrl::new(PORT)),
            None if port.is_empty() => default_port,
            None => return Err(InvalidUrl::new(form)),
        };
        Ok(Self { host, port })
    }

    /// Returns whether the host is the directory of a Unix socket.
    #[must_use]
    pub fn is_unix(&self) -> bool {
        self.host.starts_with('/')
    }
}

impl fmt::Display for HostPort {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { host, port } = self;
        if host.contains(':') { write!(f, "[{host}]:{port}") } else { write!(f, "{host}:{port}") }
    }
}

/// Percent-decodes a name, which may be shown to people. The characters `;`, `&` and `=` must be encoded, so that
/// `DATABASE;password=…` is not accepted as a name.
///
/// # Errors
/// [`InvalidUrl`] of `part`.
pub fn decode_name(text: &str, part: &str) -> Result<String, InvalidUrl> {
    if text.contains([';', '&', '=']) {
        return Err(InvalidUrl::encoding(part));
    }
    decode(text, part)
}

/// Percent-decodes `text` strictly, and refuses control characters.
///
/// # Errors
/// [`InvalidUrl`] of `part`.
pub fn decode(text: &str, part: &str) -> Result<String, InvalidUrl> {
    let wrong = || InvalidUrl::encoding(part);
    let mut parts = text.split('%');
    let mut bytes = parts.next().unwrap_or_default().as_bytes().to_vec();
    for part in parts {
        let (digits, rest) = part.split_at_checked(2).ok_or_else(wrong)?;
        bytes.push(u8::from_str_radix(digits, 16).map_err(|_| wrong())?);
        bytes.extend_from_slice(rest.as_bytes());
    }
    let text = String::from_utf8(bytes).map_err(|_| wrong())?;
    if text.chars().any(char::is_control) { Err(wrong()) } else { Ok(text) }
}

/// Calls `set` with each parameter of `NAME=VALUE&…`, decoded. The error of `set` says which values are allowed.
/// `names` lists all parameters, as `A, B`. The value of the parameter `lenient` may contain `;` and `=` without
/// encoding.
///
/// # Errors
/// [`InvalidUrl`], also for an unknown or repeated parameter.
pub fn parameters(
    query: &str,
    names: &str,
    lenient: &str,
    mut set: impl FnMut(&str, &str) -> Result<(), &'static str>,
) -> Result<(), InvalidUrl> {
    let mut seen = Vec::new();
    for (index, pair) in query.split('&').enumerate() {
        let (name, value) = pair.split_once('=').unwrap_or((pair, ""));
        if !names.split(", ").any(|known| known == name) {
            return Err(InvalidUrl::new(format!(
                "parameter {} behind the ? is none of {names}; user and password are written in \
                 front of the host",
                index + 1
            )));
        }
        if seen.contains(&name) {
            return Err(InvalidUrl::new(format!("{name} is given twice; give it once")));
        }
        seen.push(name);
        let decode = if name == lenient { decode } else { decode_name };
        set(name, &decode(value, name)?).map_err(|allowed| {
            InvalidUrl::new(format!("the value of {name} is not allowed: {allowed}"))
        })?;
    }
    Ok(())
}

/// Parses a time such as `3s` or `500ms`. `bare` converts a number without a unit.
///
/// # Errors
/// The message says which values are allowed.
pub fn duration(value: &str, bare: impl Fn(u64) -> Duration) -> Result<Duration, &'static str> {
    let unit = value.trim_start_matches(|c: char| c.is_ascii_digit());
    let number: u64 = value[..value.len() - unit.len()].parse().map_err(|_| DURATION)?;
    let duration = match unit {
        "" => bare(number),
        "ms" => Duration::from_millis(number),
        "s" => Duration::from_secs(number),
        "min" => Duration::from_secs(number.saturating_mul(60)),
        _ => return Err(DURATION),
    };
    if duration.is_zero() || duration > MAX_DURATION { Err(DURATION) } else { Ok(duration) }
}
