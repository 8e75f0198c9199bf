//! Parsers for the values of flags, such as durations, sizes and addresses. Also reads environment variables.

#[cfg(test)]
mod tests;

use std::{
    env,
    ffi::{OsStr, OsString},
    fmt,
    net::SocketAddr,
    num::NonZeroU32,
    ops::RangeInclusive,
    path::PathBuf,
    str::FromStr,
    time::Duration,
};

use bytesize::ByteSize;

const DAY: Duration = Duration::from_hours(24);
const CENTURY: Duration = Duration::from_hours(24 * 36_525);

/// Parses the delimiter of CSV: `tab`, a space, or an ASCII punctuation character other than `"`.
pub(crate) fn delimiter(text: &str) -> Result<char, &'static str> {
    let character = if text == "tab" { Some('\t') } else { text.parse::<char>().ok() };
    let fits = |it: &char| *it == '\t' || it.is_ascii_punctuation() && *it != '"' || *it == ' ';
    character
        .filter(fits)
        .ok_or("the delimiter must be 'tab', a space, or a punctuation character other than '\"'")
}

/// Parses a time limit: 1 ms to 24 h.
pub(crate) fn timeout(text: &str) -> Result<Duration, String> {
    duration(text, Duration::from_millis(1)..=DAY, "1ms to 24h")
}

/// Parses a time limit that may be zero: 0 s to 24 h.
pub(crate) fn grace(text: &str) -> Result<Duration, String> {
    duration(text, Duration::ZERO..=DAY, "0s to 24h")
}

/// Parses the latency of a simulated store: 0 s to 60 s.
pub(crate) fn latency(text: &str) -> Result<Duration, String> {
    duration(text, Duration::ZERO..=Duration::from_mins(1), "0s to 60s")
}

/// Parses the lifetime of a key: 1 s to 100 years.
pub(crate) fn lifetime(text: &str) -> Result<Duration, String> {
    if ["never", "none", "off"].contains(&text) {
        return Err("leave the flag out for a key that does not expire".to_owned());
    }
    // A bare number most likely means days.
    if is_number(text) {
        return Err(format!("a duration has a unit; write {text}d for {text} days"));
    }
    duration(text, Duration::from_secs(1)..=CENTURY, "1s to 100years")
}

/// Returns whether `text` consists of digits.
pub(crate) fn is_number(text: &str) -> bool {
    !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit())
}

/// Parses the time for which the old key stays valid after a roll: 0 s to 100 years.
pub(crate) fn overlap(text: &str) -> Result<Duration, String> {
    duration(text, Duration::ZERO..=CENTURY, "0s to 100years")
}

fn duration(
    text: &str,
    allowed: RangeInclusive<Duration>,
    allowed_shown: &str,
) -> Result<Duration, String> {
    /// The length limit, in bytes. humantime 2.4.0 panics if the parts of a duration add up to more than `u64::MAX`
    /// seconds, which needs a longer text.
    const MAX_CHARS: usize = 20;
    let outside = || format!("the duration must be {allowed_shown}");
    if text.len() > MAX_CHARS {
        return Err(outside());
    }
    let duration = humantime::parse_duration(text).map_err(|_| {
        let form = "a duration is written like 10s, 500ms or 24h";
        let hint = is_number(text).then(|| format!("; write {text}s for {text} seconds"));
        form.to_owned() + &hint.unwrap_or_default()
    })?;
    if allowed.contains(&duration) { Ok(duration) } else { Err(outside()) }
}

/// Parses the size of a request body, in bytes: 1 B to 16 MiB.
pub(crate) fn body_size(text: &str) -> Result<usize, String> {
    size(text, 1..=16 * bytesize::MIB, "1B to 16MiB, written like 64KiB or 65536")
}

/// Parses an amount of memory, in bytes: up to 64 GiB.
pub(crate) fn memory(text: &str) -> Result<usize, String> {
    size(text, 0..=64 * bytesize::GIB, "0 to 64GiB, written like 16MiB or 16777216")
}

fn size(text: &str, allowed: RangeInclusive<u64>, allowed_shown: &str) -> Result<usize, String> {
    let size = text.parse().ok().map(|ByteSize(bytes)| bytes);
    let size = size.filter(|size| allowed.contains(size)).and_then(|size| size.try_into().ok());
    size.ok_or_else(|| format!("the size must be {allowed_shown}"))
}

/// Parses a number: 1 to 1 000 000.
pub(crate) fn number<N: TryFrom<NonZeroU32>>(text: &str) -> Result<N, &'static str> {
    let number = text.parse().ok().filter(|number: &NonZeroU32| number.get() <= 1_000_000);
    number.and_then(|number| number.try_into().ok()).ok_or("the number must be 1 to 1000000")
}

/// Parses the name of a deployment: 1 to 64 characters without control characters.
pub(crate) fn environment(text: &str) -> Result<String, &'static str> {
    let fits = (1..=64).contains(&text.chars().count()) && !text.chars().any(char::is_control);
    fits.then(|| text.to_owned())
        .ok_or("the name must have 1 to 64 characters, none of them a control character")
}

/// Returns the value of an environment variable; `None` if it is empty or not set.
pub(crate) fn variable(name: impl AsRef<OsStr>) -> Option<OsString> {
    env::var_os(name).filter(|value| !value.is_empty())
}

/// Returns the name of the variable of a flag: `PETSTORE_HEADER_TIMEOUT` for `--header-timeout`.
pub(crate) fn variable_of(flag: &str) -> String {
    let words = flag.trim_start_matches('-').replace('-', "_");
    format!("PETSTORE_{}", words.to_ascii_uppercase())
}

/// The default address of the service.
pub(crate) const LISTEN: &str = "127.0.0.1:8080";

/// The error for a text that is no address and port.
const INVALID: &str =
    "an address and a port are needed, like 127.0.0.1:8080, localhost:8080 or [::1]:8080";

/// An address to listen on.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum ListenAddress {
    /// A host and a port that [`listen_address`] accepts.
    Tcp(String),
    /// The path of a Unix socket.
    Unix(PathBuf),
}

impl FromStr for ListenAddress {
    type Err = &'static str;

    fn from_str(text: &str) -> Result<Self, &'static str> {
        match text.strip_prefix("unix:") {
            Some("") => Err(INVALID),
            Some(path) => Ok(Self::Unix(path.into())),
            None => listen_address(text).map(Self::Tcp),
        }
    }
}

impl fmt::Display for ListenAddress {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Tcp(address) => f.write_str(address),
            Self::Unix(path) => write!(f, "unix:{}", path.display()),
        }
    }
}

/// Checks `HOST:PORT`, where the host is a name or an address (`127.0.0.1`, `[::1]`, `localhost`).
pub(crate) fn listen_address(text: &str) -> Result<String, &'static str> {
    let is_named = host_and_port(text).is_some_and(|(_, port)| port.is_some());
    if is_named || text.parse::<SocketAddr>().is_ok() { Ok(text.to_owned()) } else { Err(INVALID) }
}

/// Checks the URL of a deployment, such as `https://pets.example/v1`: http or https, no user, no query, and `/v1`
/// at the end (interface, "Addresses").
pub(crate) fn service_url(text: &str) -> Result<String, &'static str> {
    let rest = text.strip_prefix("https://").or_else(|| text.strip_prefix("http://"));
    let url_char = |byte: u8| byte.is_ascii_graphic() && !b"\"<>\\^`{|}?#@".contains(&byte);
    let fits = |rest: &str| {
        let has_host = host_and_port(rest.split('/').next().unwrap_or_default()).is_some();
        has_host && rest.ends_with("/v1") && rest.bytes().all(url_char)
    };
    rest.filter(|rest| fits(rest)).map(|_| text.to_owned()).ok_or(
        "the URL must be https:// or http://, a host, and a path that ends in /v1, in plain ASCII without a user, a \
         query or a fragment, like https://pets.example/v1",
    )
}

/// Checks an origin, or `*`. The origin must have the form that browsers send (RFC 6454, section 6.2), because origins are
/// compared as text.
pub(crate) fn origin(text: &str) -> Result<String, &'static str> {
    let fits = || {
        let (scheme, authority) = text.split_once("://")?;
        let (_, port) = host_and_port(authority)?;
        let is_usual = matches!((scheme, port), ("https", Some(443)) | ("http", Some(80)));
        let scheme_fits = scheme.starts_with(|first: char| first.is_ascii_lowercase())
            && scheme.bytes().all(|byte| byte.is_ascii_alphanumeric() || b"+-.".contains(&byte));
        let is_lower = !text.bytes().any(|byte| byte.is_ascii_uppercase());
        (scheme_fits && is_lower && !is_usual && port != Some(0)).then_some(())
    };
    if text == "*" || fits().is_some() {
        return Ok(text.to_owned());
    }
    Err(
        "an origin is a scheme and a host in lower case, without a path, and with a port only if it is not the usual \
         one, like https://app.example or http://localhost:3000; or '*' for any",
    )
}

/// Splits `HOST` or `HOST:PORT`. Returns `None` if the host is neither a name nor an address, or if the port is not a
/// number. An IPv6 address needs brackets.
fn host_and_port(authority: &str) -> Option<(&str, Option<u16>)> {
    let (host, port) = match authority.rsplit_once(':') {
        Some((host, port)) if !port.ends_with(']') => (host, Some(port)),
        _ => (authority, None),
    };
    let named = |byte: u8| byte.is_ascii_alphanumeric() || b".-_".contains(&byte);
    // A name has a letter. A host without letters must be an address.
    let is_named = host.len() <= 253
        && host.bytes().all(named)
        && host.bytes().any(|byte| byte.is_ascii_alphabetic());
    let is_address = !host.contains('%') && format!("{host}:0").parse::<SocketAddr>().is_ok();
    // `parse` would accept a sign, as in `+80`.
    let is_number = port.is_none_or(|port| port.bytes().all(|byte| byte.is_ascii_digit()));
    let port = port.map(str::parse).transpose().ok()?;
    ((is_named || is_address) && is_number).then_some((host, port))
}
