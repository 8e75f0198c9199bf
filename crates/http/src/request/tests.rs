//! Headers for tests, and the test of the peer.

use std::net::SocketAddr;

use super::{HeaderMap, HeaderName, HeaderValue, Peer};

/// Returns headers of this name with these values.
pub(crate) fn headers_of(name: &HeaderName, values: &[impl AsRef<[u8]>]) -> HeaderMap {
    let mut headers = HeaderMap::new();
    for value in values {
        headers.append(name, HeaderValue::from_bytes(value.as_ref()).unwrap());
    }
    headers
}

#[test]
fn a_peer_is_its_address_and_port_or_the_kind_of_its_socket() {
    for (address, name) in [
        ("192.0.2.7:4711", "192.0.2.7:4711"),
        ("[::ffff:192.0.2.7]:4711", "192.0.2.7:4711"),
        ("[2001:db8::7]:4711", "[2001:db8::7]:4711"),
    ] {
        let peer = Peer::from(address.parse::<SocketAddr>().unwrap());
        assert_eq!(peer.to_string(), name);
    }
    assert_eq!(Peer::Unix.to_string(), "unix");
}
