//! Where the service is reached.

use std::{
    fmt,
    net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr},
    path::PathBuf,
};

/// Where one socket of the service is reached.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Place {
    Tcp {
        /// `http` or `https`.
        scheme: &'static str,
        address: SocketAddr,
    },
    /// The absolute path of the socket's file.
    Unix(PathBuf),
}

impl Place {
    /// Returns the address as the log shows it.
    pub(super) fn address(&self) -> String {
        match self {
            Self::Tcp { address, .. } => address.to_string(),
            Self::Unix(path) => format!("unix:{}", path.display()),
        }
    }

    /// Returns the words for `curl` to reach `target` here, from this machine.
    pub(super) fn curl(&self, target: &str) -> String {
        match self {
            Self::Tcp { scheme, address } => {
                format!("{scheme}://{}{target}", reachable(*address))
            }
            Self::Unix(path) => {
                format!("--unix-socket '{}' http://localhost{target}", path.display())
            }
        }
    }
}

impl fmt::Display for Place {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Tcp { scheme, address } => write!(f, "{scheme}://{address}"),
            Self::Unix(path) => write!(f, "unix:{}", path.display()),
        }
    }
}

/// Returns where a client on this machine reaches a service that listens on `address`.
fn reachable(mut address: SocketAddr) -> SocketAddr {
    if address.ip().is_unspecified() {
        let loopback: IpAddr =
            if address.is_ipv4() { Ipv4Addr::LOCALHOST.into() } else { Ipv6Addr::LOCALHOST.into() };
        address.set_ip(loopback);
    }
    address
}

#[cfg(test)]
mod tests {
    use super::Place;

    #[test]
    fn an_unspecified_address_is_reached_through_the_loopback() {
        for (address, shown) in [
            ("0.0.0.0:80", "127.0.0.1:80"),
            ("[::]:80", "[::1]:80"),
            ("192.0.2.1:80", "192.0.2.1:80"),
            ("[::1]:80", "[::1]:80"),
        ] {
            let place = Place::Tcp { scheme: "https", address: address.parse().unwrap() };
            assert_eq!(place.curl("/x"), format!("https://{shown}/x"));
        }
        let socket = Place::Unix("/run/x".into());
        assert_eq!(socket.curl("/x"), "--unix-socket '/run/x' http://localhost/x");
    }
}
