//! The socket that clients connect to.

use std::{io, net::SocketAddr, num::NonZeroU32};

use listenfd::ListenFd;
use tokio::net::{TcpListener, TcpSocket, lookup_host};

/// The system shortens a longer accept queue to its own limit.
const SYSTEM_LIMIT: u32 = i32::MAX.unsigned_abs();
/// Connections that may wait to be accepted by the listener of the metrics.
const METRICS_BACKLOG: u32 = 64;

/// The socket that the service manager has opened for this process, as `LISTEN_FDS` says; else one that
/// listens on the first address of `name` that can be had. So many connections may wait to be accepted
/// there, by default as many as the system allows. Whether it is the service manager's.
pub(super) async fn listen(
    name: &str,
    backlog: Option<NonZeroU32>,
) -> io::Result<(TcpListener, bool)> {
    if let Some(listener) = ListenFd::from_env().take_tcp_listener(0)? {
        listener.set_nonblocking(true)?;
        return Ok((TcpListener::from_std(listener)?, true));
    }
    let backlog = backlog.map_or(SYSTEM_LIMIT, NonZeroU32::get);
    Ok((bind_any(name, backlog).await?, false))
}

/// A socket that listens on the first address of `name` that can be had, for the metrics.
pub(super) async fn listen_for_metrics(name: &str) -> io::Result<TcpListener> {
    bind_any(name, METRICS_BACKLOG).await
}

async fn bind_any(name: &str, backlog: u32) -> io::Result<TcpListener> {
    let mut refusal = io::Error::new(io::ErrorKind::InvalidInput, "the name has no address");
    for address in lookup_host(name).await? {
        match bind(address, backlog) {
            Ok(listener) => return Ok(listener),
            Err(error) => refusal = error,
        }
    }
    Err(refusal)
}

fn bind(address: SocketAddr, backlog: u32) -> io::Result<TcpListener> {
    let socket = if address.is_ipv4() { TcpSocket::new_v4() } else { TcpSocket::new_v6() }?;
    // A restart must not wait for the connections of the process before it to be forgotten.
    socket.set_reuseaddr(true)?;
    socket.bind(address)?;
    socket.listen(backlog)
}
