//! Where clients reach a deployment.

/// Reads an address such as `https://pets.example/v1`: http or https, no user, no query, and the
/// version segment at its end (interface, section 9).
pub(super) fn parse(text: &str) -> Result<String, InvalidServiceUrl> {
    let rest = text.strip_prefix("https://").or_else(|| text.strip_prefix("http://"));
    let rest = rest.ok_or(InvalidServiceUrl::Scheme)?;
    let url_char = |byte: u8| byte.is_ascii_graphic() && !b"\"<>\\^`{|}?#@".contains(&byte);
    if !rest.bytes().all(url_char) {
        return Err(InvalidServiceUrl::Characters);
    }
    let authority = rest.split('/').next().unwrap_or_default();
    if !is_authority(authority) {
        return Err(InvalidServiceUrl::Host);
    }
    let bare = text.trim_end_matches('/');
    if !bare.ends_with("/v1") {
        return Err(InvalidServiceUrl::Version);
    }
    if bare == text {
        Ok(bare.to_owned())
    } else {
        Err(InvalidServiceUrl::TrailingSlash(bare.to_owned()))
    }
}

/// A host, and a port if a colon follows it.
fn is_authority(text: &str) -> bool {
    let (host, port) = match text.rsplit_once(':') {
        Some((host, port)) if !port.ends_with(']') => (host, Some(port)),
        _ => (text, None),
    };
    let bracketed = host.starts_with('[') && host.ends_with(']') && host.len() > 2;
    let digits = |port: &str| port.bytes().all(|byte| byte.is_ascii_digit());
    (bracketed || !host.is_empty() && !host.contains([':', '[', ']']))
        && port.is_none_or(|port| digits(port) && port.parse::<u16>().is_ok())
}

/// The text is not the address of a deployment.
#[derive(Debug, PartialEq, Eq, thiserror::Error)]
pub(crate) enum InvalidServiceUrl {
    #[error("the URL must begin with https:// or http://")]
    Scheme,
    #[error("the URL must be plain ASCII without a user, a query or a fragment")]
    Characters,
    #[error("the URL must have a host, like https://pets.example/v1")]
    Host,
    #[error("the URL must end in /v1, like https://pets.example/v1")]
    Version,
    #[error("the URL must not end in a slash: use {0}")]
    TrailingSlash(String),
}

#[cfg(test)]
mod tests {
    use super::{
        InvalidServiceUrl::{self, Characters, Host, Scheme, Version},
        parse,
    };

    #[test]
    fn a_deployment_is_reached_by_http_and_ends_in_its_version() {
        for text in [
            "https://pets.example/v1",
            "http://localhost:8080/v1",
            "https://[2001:db8::1]:8443/v1",
            "https://[::1]/v1",
            "https://api.example/animals/v1",
        ] {
            assert_eq!(parse(text).as_deref(), Ok(text));
        }
        let slash = |text: &str| InvalidServiceUrl::TrailingSlash(text.to_owned());
        let table = [
            ("", Scheme),
            ("pets.example/v1", Scheme),
            ("ftp://pets.example/v1", Scheme),
            ("HTTPS://pets.example/v1", Scheme),
            ("https://user:secret@pets.example/v1", Characters),
            ("https://pets.example/v1?x=1", Characters),
            ("https://pets.example/v1#top", Characters),
            ("https://pets.example/a b/v1", Characters),
            ("https://zoë.example/v1", Characters),
            ("https:///v1", Host),
            ("https://:80/v1", Host),
            ("https://a:b:80/v1", Host),
            ("https://a:99999/v1", Host),
            ("https://a:/v1", Host),
            ("https://[]/v1", Host),
            ("https://pets.example", Version),
            ("https://pets.example/v2", Version),
            ("https://pets.examplev1", Version),
            ("https://pets.example/v1/", slash("https://pets.example/v1")),
            ("https://pets.example/v1//", slash("https://pets.example/v1")),
            ("https://pets.example/", Version),
        ];
        for (text, refusal) in table {
            assert_eq!(parse(text), Err(refusal), "{text:?}");
        }
    }
}
