//! The client behind trusted proxies, for the log, from `X-Forwarded-For`.
//!
//! Any client can send this header, so only the header of a trusted proxy counts.

use std::{
    net::{IpAddr, Ipv6Addr, SocketAddr},
    str::FromStr,
};

use hyper::{HeaderMap, header::HeaderName};
use ipnet::IpNet;

use super::Peer;

const X_FORWARDED_FOR: HeaderName = HeaderName::from_static("x-forwarded-for");

/// A proxy whose `X-Forwarded-For` header is trusted.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TrustedProxy {
    /// A proxy that connects from an address in this network.
    Network(IpNet),
    /// A proxy that connects over a Unix socket.
    Unix,
}

/// Parses a network (`10.0.0.0/8`), an address, or `unix`.
impl FromStr for TrustedProxy {
    type Err = &'static str;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        let address = || text.parse::<IpAddr>().ok().map(IpNet::from);
        match text.parse::<IpNet>().ok().or_else(address) {
            Some(network) => Ok(Self::Network(network)),
            None if text == "unix" => Ok(Self::Unix),
            None => Err("a proxy is a network like 10.0.0.0/8 or fd00::/8, an address, or unix"),
        }
    }
}

/// Returns the client of a request from `peer`: the rightmost address that is not a trusted proxy, or the leftmost
/// address if all are trusted. Returns `None` if `peer` is not trusted or sends no `X-Forwarded-For`, or if an entry on
/// the way is no address.
pub(crate) fn client(trusted: &[TrustedProxy], peer: Peer, headers: &HeaderMap) -> Option<IpAddr> {
    let is_trusted = |peer| {
        trusted.iter().any(|proxy| match (proxy, peer) {
            (TrustedProxy::Network(network), Peer::Tcp(client)) => network.contains(&client.ip()),
            (proxy, peer) => *proxy == TrustedProxy::Unix && peer == Peer::Unix,
        })
    };
    if !is_trusted(peer) {
        return None;
    }
    let mut client = None;
    for field in headers.get_all(X_FORWARDED_FOR).iter().rev() {
        for node in field.to_str().ok()?.rsplit(',') {
            let address = address(node)?;
            client = Some(address);
            if !is_trusted(SocketAddr::new(address, 0).into()) {
                return client;
            }
        }
    }
    client
}

/// Parses an address, with or without brackets and a port. Returns an IPv4-mapped IPv6 address as IPv4.
fn address(node: &str) -> Option<IpAddr> {
    let node = node.trim();
    let with_port = || node.parse::<SocketAddr>().ok().map(|address| address.ip());
    let in_brackets = || node.strip_prefix('[')?.strip_suffix(']')?.parse::<Ipv6Addr>().ok();
    let plain = node.parse::<IpAddr>().ok();
    let address = plain.or_else(with_port).or_else(|| in_brackets().map(IpAddr::from));
    address.map(|address| address.to_canonical())
}

#[cfg(test)]
mod tests {
    use std::net::SocketAddr;

    use hyper::{HeaderMap, header::HeaderName};

    use super::{Peer, TrustedProxy, client};

    fn seen(peer: Peer, fields: &[(&str, &str)]) -> Option<String> {
        let trusted =
            ["10.0.0.0/8", "fd00::/8", "192.0.2.1", "unix"].map(|text| text.parse().unwrap());
        let mut headers = HeaderMap::new();
        for (name, value) in fields {
            headers.append(name.parse::<HeaderName>().unwrap(), value.parse().unwrap());
        }
        client(&trusted, peer, &headers).map(|address| address.to_string())
    }

    fn peer(address: &str) -> Peer {
        address.parse::<SocketAddr>().unwrap().into()
    }

    #[test]
    fn the_client_is_the_rightmost_untrusted_address() {
        for (text, expected) in [
            ("203.0.113.7", Some("203.0.113.7")),
            ("198.51.100.1, 203.0.113.7", Some("203.0.113.7")),
            ("198.51.100.1, 203.0.113.7, 10.0.0.2, 192.0.2.1", Some("203.0.113.7")),
            ("203.0.113.7:4711,10.0.0.2", Some("203.0.113.7")),
            ("2001:db8::7", Some("2001:db8::7")),
            ("[2001:db8::7]:80, fd00::1", Some("2001:db8::7")),
            ("::ffff:203.0.113.7", Some("203.0.113.7")),
            ("10.0.0.3, 10.0.0.2", Some("10.0.0.3")),
            ("203.0.113.7, unknown", None),
            ("unknown, 203.0.113.7", Some("203.0.113.7")),
            ("203.0.113.7,", None),
            ("", None),
        ] {
            for proxy in [peer("10.1.2.3:80"), peer("[fd00::2]:80"), Peer::Unix] {
                let found = seen(proxy, &[("x-forwarded-for", text)]);
                assert_eq!(found.as_deref(), expected, "{text}");
            }
        }
        let lines = ["198.51.100.1", "203.0.113.7", "10.0.0.2"].map(|it| ("x-forwarded-for", it));
        assert_eq!(seen(peer("10.0.0.1:1"), &lines).as_deref(), Some("203.0.113.7"));
    }

    #[test]
    fn headers_of_untrusted_peers_are_ignored() {
        let fields = [("x-forwarded-for", "203.0.113.7")];
        for stranger in ["192.0.2.2:80", "11.0.0.1:80", "[fe00::1]:80"] {
            assert_eq!(seen(peer(stranger), &fields), None);
        }
        assert_eq!(seen(peer("[::ffff:192.0.2.1]:80"), &fields).as_deref(), Some("203.0.113.7"));
        let none: [TrustedProxy; 0] = [];
        assert_eq!(client(&none, Peer::Unix, &HeaderMap::new()), None);
    }

    #[test]
    fn a_proxy_is_a_network_an_address_or_a_unix_socket() {
        for text in ["10.0.0.0/8", "10.1.2.3/8", "::1", "fd00::/8", "0.0.0.0/0", "unix"] {
            assert!(text.parse::<TrustedProxy>().is_ok(), "{text}");
        }
        for text in ["", "10.0.0.0/33", "10.0.0", "localhost", "unix:/run/x", "*", "10.0.0.1:80"] {
            assert!(text.parse::<TrustedProxy>().is_err(), "{text}");
        }
    }
}
