//! Addresses in flags: where the service listens, where clients reach it, and the origins of pages.

use std::{
    fmt,
    net::{Ipv4Addr, Ipv6Addr, SocketAddr},
    path::PathBuf,
    str::FromStr,
};

use clap::Args;

/// The flag of `serve`, and of what asks a service.
#[derive(Debug, Args)]
pub(crate) struct ListenArg {
    /// Address and port where the service listens; with port 0, serve picks one and prints it. Or
    /// unix:PATH, a Unix socket. Given again, or with commas, for several.
    #[arg(long, value_name = "ADDRESS", default_value = "127.0.0.1:8080", value_delimiter = ',')]
    pub(crate) listen: Vec<ListenAddress>,
}

/// Why a text is no address and port.
const INVALID: &str =
    "an address and a port are needed, like 127.0.0.1:8080, localhost:8080 or [::1]:8080";

/// Where a service listens.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum ListenAddress {
    /// A host and a port, as [`listen_address`] accepts them.
    Tcp(String),
    /// The file of a Unix socket.
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

/// Reads a host (`127.0.0.1`, `[::1]`, `localhost`) and a port, as the system's resolver takes them.
pub(crate) fn listen_address(text: &str) -> Result<String, &'static str> {
    let is_named = host_and_port(text).is_some_and(|(_, port)| port.is_some());
    if is_named || text.parse::<SocketAddr>().is_ok() { Ok(text.to_owned()) } else { Err(INVALID) }
}

/// Reads the address of a deployment, such as `https://pets.example/v1`: http or https, no user, no query, and the
/// version segment at its end (interface, section 9).
pub(super) fn service_url(text: &str) -> Result<String, String> {
    let rest = text.strip_prefix("https://").or_else(|| text.strip_prefix("http://"));
    let rest = rest.ok_or("the URL must begin with https:// or http://")?;
    let url_char = |byte: u8| byte.is_ascii_graphic() && !b"\"<>\\^`{|}?#@".contains(&byte);
    if !rest.bytes().all(url_char) {
        return Err("the URL must be plain ASCII without a user, a query or a fragment".to_owned());
    }
    if host_and_port(rest.split('/').next().unwrap_or_default()).is_none() {
        return Err("the URL must have a host, like https://pets.example/v1".to_owned());
    }
    let bare = text.trim_end_matches('/');
    if !bare.ends_with("/v1") {
        return Err("the URL must end in /v1, like https://pets.example/v1".to_owned());
    }
    if bare != text {
        return Err(format!("the URL must not end in a slash: use {bare}"));
    }
    Ok(text.to_owned())
}

/// Reads an origin as browsers send it (RFC 6454, section 6.2), for it is compared letter by letter; `*` is any.
pub(super) fn origin(text: &str) -> Result<String, String> {
    const FORM: &str = "an origin is a scheme, a host and perhaps a port, without a path, like \
                        https://app.example or http://localhost:3000; or '*' for any";
    if text == "*" {
        return Ok(text.to_owned());
    }
    let usual = text.to_ascii_lowercase();
    let (scheme, authority) = usual.split_once("://").ok_or(FORM)?;
    let (host, port) = host_and_port(authority).filter(|(_, port)| *port != Some(0)).ok_or(FORM)?;
    let scheme_fits = scheme.starts_with(|first: char| first.is_ascii_alphabetic())
        && scheme.bytes().all(|byte| byte.is_ascii_alphanumeric() || b"+-.".contains(&byte));
    if !scheme_fits {
        return Err(FORM.to_owned());
    }
    let usual = match (scheme, port) {
        ("https", Some(443)) | ("http", Some(80)) | (_, None) => format!("{scheme}://{host}"),
        (_, Some(port)) => format!("{scheme}://{host}:{port}"),
    };
    if usual == text {
        return Ok(usual);
    }
    Err(format!("browsers send an origin in lower case, and leave the usual port out: use {usual}"))
}

/// Takes `HOST` or `HOST:PORT` apart; `None` if the host is neither a name nor an address, that of IPv6 in brackets.
fn host_and_port(authority: &str) -> Option<(&str, Option<u16>)> {
    let (host, port) = match authority.rsplit_once(':') {
        Some((host, port)) if !port.ends_with(']') => (host, Some(port)),
        _ => (authority, None),
    };
    let named = |byte: u8| byte.is_ascii_alphanumeric() || b".-_".contains(&byte);
    let is_host = match host.strip_prefix('[').and_then(|host| host.strip_suffix(']')) {
        Some(address) => address.parse::<Ipv6Addr>().is_ok(),
        // Digits and dots alone are an address.
        None if !host.bytes().any(|byte| byte.is_ascii_alphabetic()) => {
            host.parse::<Ipv4Addr>().is_ok()
        }
        None => host.len() <= 253 && host.bytes().all(named),
    };
    // A number that is read may have a sign.
    let is_port = |port: &str| port.bytes().all(|byte| byte.is_ascii_digit());
    match port {
        None => is_host.then_some((host, None)),
        Some(port) => {
            let port = port.parse().ok().filter(|_| is_host && is_port(port))?;
            Some((host, Some(port)))
        }
    }
}

#[cfg(test)]
mod tests {
    use super::{ListenAddress, listen_address, origin, service_url};

    #[test]
    fn a_place_is_an_address_or_the_file_of_a_socket() {
        for text in ["127.0.0.1:8080", "unix:/run/petstore/http.sock", "unix:petstore.sock"] {
            assert_eq!(text.parse::<ListenAddress>().unwrap().to_string(), text);
        }
        for text in ["unix:", "", "UNIX:/run/x", "/run/x"] {
            assert!(text.parse::<ListenAddress>().is_err(), "{text:?}");
        }
    }

    #[test]
    fn an_address_has_a_host_and_a_port() {
        for text in [
            "127.0.0.1:8080",
            "0.0.0.0:0",
            "[::1]:0",
            "[::]:65535",
            "localhost:8080",
            "a-b.example:1",
        ] {
            assert_eq!(listen_address(text).as_deref(), Ok(text));
        }
        for text in [
            "",
            ":",
            ":8080",
            "8080",
            "localhost",
            "localhost:",
            "localhost:65536",
            "localhost:+1",
            "localhost:http",
            "127.0.0.1",
            "127.0.0.300:80",
            "127.0.0.1:99999",
            "::1",
            "::1:8080",
            "[::1]",
            "[::x]:80",
            "a b:80",
            "http://localhost:80",
            "user@host:80",
        ] {
            assert!(listen_address(text).is_err(), "{text:?}");
        }
    }

    #[test]
    fn a_deployment_is_reached_by_http_and_ends_in_its_version() {
        for text in [
            "https://pets.example/v1",
            "http://localhost:8080/v1",
            "https://[2001:db8::1]:8443/v1",
            "https://[::1]/v1",
            "https://api.example/animals/v1",
        ] {
            assert_eq!(service_url(text).as_deref(), Ok(text));
        }
        let [scheme, characters, host, version] =
            ["begin with https://", "plain ASCII", "have a host", "end in /v1, like"];
        let table = [
            ("", scheme),
            ("pets.example/v1", scheme),
            ("ftp://pets.example/v1", scheme),
            ("HTTPS://pets.example/v1", scheme),
            ("https://user:secret@pets.example/v1", characters),
            ("https://pets.example/v1?x=1", characters),
            ("https://pets.example/v1#top", characters),
            ("https://pets.example/a b/v1", characters),
            ("https://zoë.example/v1", characters),
            ("https:///v1", host),
            ("https://:80/v1", host),
            ("https://a:b:80/v1", host),
            ("https://a:99999/v1", host),
            ("https://a:/v1", host),
            ("https://[]/v1", host),
            ("https://pets.example", version),
            ("https://pets.example/v2", version),
            ("https://pets.examplev1", version),
            ("https://pets.example/v1/", "use https://pets.example/v1"),
            ("https://pets.example/v1//", "use https://pets.example/v1"),
            ("https://pets.example/", version),
        ];
        for (text, refusal) in table {
            let why = service_url(text).unwrap_err();
            assert!(why.contains(refusal), "{text:?}: {why}");
        }
    }

    #[test]
    fn an_origin_is_what_browsers_send() {
        for text in [
            "*",
            "https://app.example",
            "http://localhost:3000",
            "http://[::1]:8080",
            "https://127.0.0.1",
            "http://app.example:443",
            "capacitor://localhost",
        ] {
            assert_eq!(origin(text).as_deref(), Ok(text));
        }
        for text in [
            "",
            "null",
            "app.example",
            "https://",
            "https://app.example/",
            "https://app.example/path",
            "https://user@app.example",
            "https://*.example",
            "https://app.example:",
            "https://app.example:0",
            "https://app.example:65536",
            "https://app.example?x",
            "https://zoë.example",
            "https://[app]",
            "://app.example",
            "https://a b",
        ] {
            assert!(origin(text).unwrap_err().starts_with("an origin is"), "{text:?}");
        }
        for (text, usual) in [
            ("https://App.Example", "https://app.example"),
            ("https://app.example:443", "https://app.example"),
            ("http://localhost:80", "http://localhost"),
        ] {
            assert!(origin(text).unwrap_err().ends_with(&format!("use {usual}")), "{text}");
        }
    }
}
