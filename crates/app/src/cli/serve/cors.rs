//! The flag of `serve` for pages of other origins.

use clap::Args;

/// Pages of other origins.
#[derive(Debug, Args)]
pub(super) struct CorsArgs {
    /// Let pages of this origin, a scheme and a host, call the service from a browser (CORS); '*' is any.
    /// Given again, or with commas, for several [default: none].
    #[arg(long, value_name = "ORIGIN", value_delimiter = ',', value_parser = parse)]
    cors_origin: Vec<String>,
}

impl CorsArgs {
    /// The same for the HTTP adapter.
    pub(super) fn origins(&self) -> Vec<String> {
        self.cors_origin.clone()
    }
}

/// Reads an origin as browsers send it (RFC 6454, section 6.2), for it is compared letter by letter.
fn parse(text: &str) -> Result<String, InvalidOrigin> {
    if text == "*" {
        return Ok(text.to_owned());
    }
    let (scheme, authority) = text.split_once("://").ok_or(InvalidOrigin::Form)?;
    let (host, port) = match authority.rsplit_once(':') {
        Some((host, port)) if !port.ends_with(']') => (host, Some(port)),
        _ => (authority, None),
    };
    let is_named = |byte: u8| byte.is_ascii_alphanumeric() || b".-_".contains(&byte);
    let is_address =
        |inside: &str| inside.bytes().all(|byte| byte.is_ascii_hexdigit() || byte == b':');
    let bracketed = host.strip_prefix('[').and_then(|host| host.strip_suffix(']'));
    let host_fits =
        !host.is_empty() && bracketed.map_or_else(|| host.bytes().all(is_named), is_address);
    let scheme_fits = scheme.starts_with(|first: char| first.is_ascii_alphabetic())
        && scheme.bytes().all(|byte| byte.is_ascii_alphanumeric() || b"+-.".contains(&byte));
    let port_fits = port.is_none_or(|port| !port.starts_with('0') && port.parse::<u16>().is_ok());
    if !(host_fits && scheme_fits && port_fits) {
        return Err(InvalidOrigin::Form);
    }
    if text.bytes().any(|byte| byte.is_ascii_uppercase()) {
        return Err(InvalidOrigin::Case(text.to_ascii_lowercase()));
    }
    if [("https", Some("443")), ("http", Some("80"))].contains(&(scheme, port)) {
        return Err(InvalidOrigin::UsualPort(format!("{scheme}://{host}")));
    }
    Ok(text.to_owned())
}

/// The text is no origin that a browser would send.
#[derive(Debug, PartialEq, Eq, thiserror::Error)]
enum InvalidOrigin {
    #[error(
        "an origin is a scheme, a host and perhaps a port, without a path, like https://app.example \
         or http://localhost:3000; or '*' for any"
    )]
    Form,
    #[error("browsers send an origin in lower case: use {0}")]
    Case(String),
    #[error("browsers leave the usual port out: use {0}")]
    UsualPort(String),
}

#[cfg(test)]
mod tests {
    use super::{InvalidOrigin, parse};

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
            assert_eq!(parse(text).as_deref(), Ok(text));
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
            assert_eq!(parse(text), Err(InvalidOrigin::Form), "{text:?}");
        }
        let lower = InvalidOrigin::Case("https://app.example".to_owned());
        assert_eq!(parse("https://App.Example"), Err(lower));
        let bare = |text: &str| InvalidOrigin::UsualPort(text.to_owned());
        assert_eq!(parse("https://app.example:443"), Err(bare("https://app.example")));
        assert_eq!(parse("http://localhost:80"), Err(bare("http://localhost")));
    }
}
