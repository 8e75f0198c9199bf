//! The parts of a request, each with a strict parser: address, credential, other headers, query and body.

pub(crate) mod address;
pub(crate) mod auth;
pub(crate) mod body;
pub(crate) mod cursor;
pub(crate) mod forwarded;
pub(crate) mod framing;
pub(crate) mod headers;
pub(crate) mod query;

use std::{fmt, net::SocketAddr};

use hyper::{
    HeaderMap,
    header::{HeaderName, HeaderValue},
};

/// The remote end of a connection: the client, or the proxy in front of the service.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Peer {
    /// The address of a TCP client. An IPv4-mapped IPv6 address is stored as IPv4.
    Tcp(SocketAddr),
    /// A process on this machine, over a Unix socket.
    Unix,
}

impl From<SocketAddr> for Peer {
    fn from(address: SocketAddr) -> Self {
        Self::Tcp(SocketAddr::new(address.ip().to_canonical(), address.port()))
    }
}

/// Writes the peer in the form of the log field `peer`.
impl fmt::Display for Peer {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Tcp(address) => address.fmt(f),
            Self::Unix => f.write_str("unix"),
        }
    }
}

/// Returns the value of a header that is sent once; `None` if the header is absent or repeated.
pub(crate) fn only<'h>(headers: &'h HeaderMap, name: &HeaderName) -> Option<&'h HeaderValue> {
    let mut sent = headers.get_all(name).iter();
    sent.next().filter(|_| sent.next().is_none())
}

#[cfg(test)]
pub(crate) mod tests;
