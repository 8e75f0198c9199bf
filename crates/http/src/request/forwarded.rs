//! The client behind trusted proxies, for the log: from `Forwarded` (RFC 7239), otherwise from `X-Forwarded-For`.
//!
//! Any client can send these headers, so only headers of trusted proxies count.

use std::{
    net::{IpAddr, Ipv6Addr, SocketAddr},
    str::FromStr,
};

use hyper::{
    HeaderMap,
    header::{FORWARDED, HeaderName, HeaderValue},
};
use ipnet::IpNet;

use super::Peer;

const X_FORWARDED_FOR: HeaderName = HeaderName::from_static("x-forwarded-for");

/// A proxy whose `Forwarded` and `X-Forwarded-For` headers are trusted.
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

impl TrustedProxy {
    fn is(&self, peer: Peer) -> bool {
        match (self, peer) {
            (Self::Network(network), Peer::Tcp(address)) => network.contains(&address.ip()),
            (Self::Unix, Peer::Unix) => true,
            (Self::Network(_), Peer::Unix) | (Self::Unix, Peer::Tcp(_)) => false,
        }
    }
}

/// Returns the client of a request from `peer`: the rightmost address that is not a trusted proxy, or the leftmost address
/// if all are trusted. Returns `None` if `peer` is not trusted, sends no such header, or sends no address in that place.
pub(crate) fn client(trusted: &[TrustedProxy], peer: Peer, headers: &HeaderMap) -> Option<IpAddr> {
    let is_trusted = |peer| trusted.iter().any(|proxy| proxy.is(peer));
    if !is_trusted(peer) {
        return None;
    }
    let fields = |name| headers.get_all(name).iter().map(HeaderValue::to_str);
    let mut nodes = Vec::new();
    if headers.contains_key(FORWARDED) {
        for field in fields(FORWARDED) {
            nodes.extend(split(field.ok()?, ',')?.into_iter().map(forwarded_for));
        }
    } else {
        for field in fields(X_FORWARDED_FOR) {
            nodes.extend(field.ok()?.split(',').map(address));
        }
    }
    let mut client = None;
    for node in nodes.into_iter().rev() {
        client = Some(node?);
        if client.is_some_and(|address| !is_trusted(SocketAddr::new(address, 0).into())) {
            break;
        }
    }
    client
}

/// Returns the address in the parameter `for` of one element of `Forwarded`.
fn forwarded_for(element: &str) -> Option<IpAddr> {
    let pairs = split(element, ';')?.into_iter();
    let mut pairs = pairs.filter_map(|pair| pair.trim().split_once('='));
    let (_, node) = pairs.find(|(name, _)| name.eq_ignore_ascii_case("for"))?;
    let quoted = node.strip_prefix('"').and_then(|node| node.strip_suffix('"'));
    address(quoted.unwrap_or(node))
}

/// Splits `text` at each `separator` outside of quoted strings. Returns `None` for a quoted string without an end, which
/// would swallow the elements that a proxy has appended.
fn split(text: &str, separator: char) -> Option<Vec<&str>> {
    let (mut is_quoted, mut is_escaped) = (false, false);
    let parts = text.split(|character| {
        is_quoted ^= character == '"' && !is_escaped;
        is_escaped = is_quoted && character == '\\' && !is_escaped;
        character == separator && !is_quoted
    });
    let parts = parts.collect();
    (!is_quoted).then_some(parts)
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
    fn a_client_is_the_rightmost_address_that_is_not_trusted() {
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
        let lines = [("x-forwarded-for", "203.0.113.7"), ("x-forwarded-for", "10.0.0.2")];
        assert_eq!(seen(peer("10.0.0.1:1"), &lines).as_deref(), Some("203.0.113.7"));
    }

    #[test]
    fn forwarded_follows_rfc_7239_and_takes_precedence() {
        for (text, expected) in [
            ("for=203.0.113.7", Some("203.0.113.7")),
            ("For=\"[2001:db8:cafe::17]:4711\"", Some("2001:db8:cafe::17")),
            ("for=203.0.113.7;proto=http;by=203.0.113.43", Some("203.0.113.7")),
            ("for=198.51.100.1, for=203.0.113.7;by=x", Some("203.0.113.7")),
            ("proto=http; FOR=\"203.0.113.7:80\" , for=10.0.0.9", Some("203.0.113.7")),
            ("for=203.0.113.7;host=\"a,for=198.51.100.1\"", Some("203.0.113.7")),
            ("for=203.0.113.7;host=\"a\\\",for=198.51.100.1;\"", Some("203.0.113.7")),
            ("for=203.0.113.7, for=_hidden", None),
            ("for=203.0.113.7, for=unknown", None),
            ("for=203.0.113.7, proto=http", None),
            ("for=\"203.0.113.7", None),
            ("for=198.51.100.1;x=\", for=203.0.113.7", None),
            ("nonsense", None),
        ] {
            let fields = [("x-forwarded-for", "192.0.2.99"), ("forwarded", text)];
            assert_eq!(seen(peer("10.0.0.1:1"), &fields).as_deref(), expected, "{text}");
        }
    }

    #[test]
    fn headers_of_other_peers_are_ignored() {
        let fields = [("x-forwarded-for", "203.0.113.7"), ("forwarded", "for=203.0.113.7")];
        for stranger in ["192.0.2.2:80", "11.0.0.1:80", "[fe00::1]:80"] {
            assert_eq!(seen(peer(stranger), &fields), None);
        }
        assert_eq!(seen(peer("[::ffff:192.0.2.1]:80"), &fields).as_deref(), Some("203.0.113.7"));
        let mapped: [TrustedProxy; 0] = [];
        assert_eq!(client(&mapped, Peer::Unix, &HeaderMap::new()), None);
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
