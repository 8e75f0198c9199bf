//! Where the service listens.

use std::{convert::Infallible, fmt, net::SocketAddr, path::PathBuf, str::FromStr};

use clap::Args;

/// The flag of `serve`, and of what asks a service.
#[derive(Debug, Args)]
pub(crate) struct ListenArg {
    /// Address and port where the service listens; with port 0, serve picks one and prints it. Or
    /// unix:PATH, a Unix socket. Given again, or with commas, for several.
    #[arg(long, value_name = "ADDRESS", default_value = "127.0.0.1:8080", value_delimiter = ',')]
    pub(crate) listen: Vec<ListenPlace>,
}

/// Where a service listens.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum ListenPlace {
    Tcp(ListenAddress),
    /// The file of a Unix socket.
    Unix(PathBuf),
}

impl FromStr for ListenPlace {
    type Err = InvalidListenAddress;

    fn from_str(text: &str) -> Result<Self, InvalidListenAddress> {
        match text.strip_prefix("unix:") {
            Some("") => Err(InvalidListenAddress),
            Some(path) => path.parse().map(Self::Unix).map_err(|never: Infallible| match never {}),
            None => text.parse().map(Self::Tcp),
        }
    }
}

impl fmt::Display for ListenPlace {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Tcp(address) => address.fmt(f),
            Self::Unix(path) => write!(f, "unix:{}", path.display()),
        }
    }
}

/// A host (`127.0.0.1`, `[::1]`, `localhost`) and a port.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct ListenAddress(String);

impl ListenAddress {
    /// The address, as the system's resolver takes it.
    pub(crate) fn as_str(&self) -> &str {
        &self.0
    }
}

impl FromStr for ListenAddress {
    type Err = InvalidListenAddress;

    fn from_str(text: &str) -> Result<Self, InvalidListenAddress> {
        if text.parse::<SocketAddr>().is_ok() {
            return Ok(Self(text.to_owned()));
        }
        let (host, port) = text.rsplit_once(':').ok_or(InvalidListenAddress)?;
        let host_char = |byte: u8| byte.is_ascii_alphanumeric() || b".-_".contains(&byte);
        // Digits and dots alone would be an address, and one that is not well formed.
        let named = host.bytes().any(|byte| byte.is_ascii_alphabetic());
        let number = port.bytes().all(|byte| byte.is_ascii_digit()) && port.parse::<u16>().is_ok();
        if named && number && host.len() <= 253 && host.bytes().all(host_char) {
            Ok(Self(text.to_owned()))
        } else {
            Err(InvalidListenAddress)
        }
    }
}

impl fmt::Display for ListenAddress {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

/// The text is not an address and a port.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("an address and a port are needed, like 127.0.0.1:8080, localhost:8080 or [::1]:8080")]
pub(crate) struct InvalidListenAddress;

#[cfg(test)]
mod tests {
    use super::{ListenAddress, ListenPlace};

    #[test]
    fn a_place_is_an_address_or_the_file_of_a_socket() {
        for text in ["127.0.0.1:8080", "unix:/run/petstore/http.sock", "unix:petstore.sock"] {
            assert_eq!(text.parse::<ListenPlace>().unwrap().to_string(), text);
        }
        for text in ["unix:", "", "UNIX:/run/x", "/run/x"] {
            assert!(text.parse::<ListenPlace>().is_err(), "{text:?}");
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
            assert_eq!(text.parse::<ListenAddress>().unwrap().as_str(), text);
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
            assert!(text.parse::<ListenAddress>().is_err(), "{text:?}");
        }
    }
}
