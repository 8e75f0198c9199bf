//! The sockets of the service: that of its clients, and that of the metrics.

use std::{io, net::SocketAddr, num::NonZeroU32};

use listenfd::ListenFd;
use tokio::net::{TcpListener, TcpSocket, lookup_host};

use crate::{cli::ListenAddress, failure::Failure};

/// The system shortens a longer accept queue to its own limit.
const SYSTEM_LIMIT: u32 = i32::MAX.unsigned_abs();
/// Connections that may wait to be accepted by the listener of the metrics.
const METRICS_BACKLOG: u32 = 64;

/// A socket that clients connect to.
pub(super) struct Socket {
    pub(super) listener: TcpListener,
    pub(super) address: SocketAddr,
    /// Whether the service manager has it too.
    pub(super) shared: bool,
}

/// The socket that the service manager has opened for this process, as `LISTEN_FDS` says; else one that
/// listens on the first address of `name` that can be had. So many connections may wait to be accepted
/// there, by default as many as the system allows.
pub(super) async fn listen(
    name: &ListenAddress,
    backlog: Option<NonZeroU32>,
) -> Result<Socket, Failure> {
    let listening = async {
        let inherited = ListenFd::from_env().take_tcp_listener(0)?;
        let shared = inherited.is_some();
        let listener = if let Some(listener) = inherited {
            listener.set_nonblocking(true)?;
            TcpListener::from_std(listener)?
        } else {
            bind_any(name, backlog.map_or(SYSTEM_LIMIT, NonZeroU32::get)).await?
        };
        Ok(Socket { address: listener.local_addr()?, listener, shared })
    };
    listening.await.map_err(|error| cannot_listen(name, "--listen", &error))
}

/// The socket for the metrics, if they are wanted; the log says where it is.
pub(super) async fn listen_for_metrics(
    name: Option<&ListenAddress>,
) -> Result<Option<TcpListener>, Failure> {
    let Some(name) = name else { return Ok(None) };
    let listening = async {
        let listener = bind_any(name, METRICS_BACKLOG).await?;
        let address = listener.local_addr()?;
        tracing::info!(%address, "metrics are served");
        Ok(Some(listener))
    };
    listening.await.map_err(|error| cannot_listen(name, "--metrics-listen", &error))
}

async fn bind_any(name: &ListenAddress, backlog: u32) -> io::Result<TcpListener> {
    let mut refusal = io::Error::new(io::ErrorKind::InvalidInput, "the name has no address");
    for address in lookup_host(name.as_str()).await? {
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

fn cannot_listen(address: &ListenAddress, flag: &str, error: &io::Error) -> Failure {
    let remedies = [
        (
            io::ErrorKind::AddrInUse,
            format!(
                "; stop the process that listens there ('ss -ltnp' shows it), or choose another port \
                 with {flag}"
            ),
        ),
        (io::ErrorKind::PermissionDenied, format!("; choose a port above 1023 with {flag}")),
        (
            io::ErrorKind::AddrNotAvailable,
            format!(
                "; this machine has no such address: choose one of its own with {flag}, or 0.0.0.0 for \
                 all"
            ),
        ),
    ];
    let remedy = remedies.into_iter().find(|(kind, _)| *kind == error.kind());
    let remedy = remedy.map(|(_, remedy)| remedy).unwrap_or_default();
    Failure::runtime(format!("cannot listen on {address}: {error}{remedy}"))
}
