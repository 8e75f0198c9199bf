//! The listening sockets of the service, for clients and for metrics.

use std::{
    fs::{self, Permissions},
    io,
    net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr},
    num::NonZeroI32,
    os::{
        fd::AsFd,
        unix::fs::{FileTypeExt as _, MetadataExt as _, PermissionsExt as _},
    },
    path::{Path, PathBuf, absolute},
};

use listenfd::ListenFd;
use petstore_http::Listener;
use rustix::net::{listen as set_backlog, sockopt::socket_acceptconn};
use tokio::net::{TcpListener, UnixListener, UnixSocket, UnixStream};

use crate::{
    cli::values::{ListenAddress, variable},
    system::{Failure, lock_folder_of},
};

/// The permissions of a Unix socket: the owner and the group may connect.
const MODE: u32 = 0o660;
/// The largest number of addresses in `--listen`.
pub(super) const MAX_SOCKETS: usize = 16;

/// The address of one listening socket.
#[derive(Clone, Debug)]
pub(super) struct BoundAddress {
    /// The bound address with its scheme, or `unix:` and the absolute path of the socket file.
    pub(super) shown: String,
    /// The URL of the service from this machine, without a path; `None` for a Unix socket.
    pub(super) url: Option<String>,
    /// The arguments of `curl` for a request from this machine, up to the path.
    pub(super) curl: String,
}

impl BoundAddress {
    pub(super) fn tcp(scheme: &str, address: SocketAddr) -> Self {
        let loopback: IpAddr =
            if address.is_ipv4() { Ipv4Addr::LOCALHOST.into() } else { Ipv6Addr::LOCALHOST.into() };
        let ip = if address.ip().is_unspecified() { loopback } else { address.ip() };
        let url = format!("{scheme}://{}", SocketAddr::new(ip, address.port()));
        Self { shown: format!("{scheme}://{address}"), curl: url.clone(), url: Some(url) }
    }

    fn unix(path: &Path) -> Self {
        let path = path.display();
        let curl = format!("--unix-socket '{path}' http://localhost");
        Self { shown: format!("unix:{path}"), url: None, curl }
    }
}

/// A listening socket and its address.
type Socket = (Listener, BoundAddress);

/// Returns the sockets that the service manager has opened (`LISTEN_FDS`, `LISTEN_PID`). Without such sockets, binds
/// `addresses`. For a host name, binds the first address that can be bound. `backlog` is the length of each accept
/// queue, by default the system's limit. `scheme` is the protocol over TCP, `http` or `https`.
pub(super) async fn listen(
    addresses: &[ListenAddress],
    backlog: Option<NonZeroI32>,
    scheme: &'static str,
) -> Result<Vec<Socket>, Failure> {
    let inherited =
        inherited(scheme).map_err(Failure::context("cannot use a socket of LISTEN_FDS"))?;
    if !inherited.is_empty() {
        return Ok(inherited);
    }
    // The system reduces the length to its own limit.
    let backlog = backlog.unwrap_or(NonZeroI32::MAX).get();
    let mut sockets = Vec::new();
    for address in addresses {
        let bound = match address {
            ListenAddress::Tcp(name) => bind_tcp(name, backlog, scheme).await,
            ListenAddress::Unix(path) => bind_unix(path, backlog).await,
        };
        let bound = bound.map_err(|error| cannot_listen(&address.to_string(), "--listen", &error));
        sockets.push(bound?);
    }
    Ok(sockets)
}

fn inherited(scheme: &'static str) -> io::Result<Vec<Socket>> {
    // Without LISTEN_PID, LISTEN_FDS was set for a parent process: sd_listen_fds(3).
    if variable("LISTEN_PID").is_none() {
        return Ok(Vec::new());
    }
    let mut manager = ListenFd::from_env();
    let mut sockets = Vec::new();
    for index in 0..manager.len() {
        // This call fails for a Unix socket, and leaves the socket in `manager`.
        let socket = if let Ok(Some(listener)) = manager.take_tcp_listener(index) {
            require_listening(&listener)?;
            listener.set_nonblocking(true)?;
            over_tcp(TcpListener::from_std(listener)?, scheme)?
        } else {
            let Some(listener) = manager.take_unix_listener(index)? else { continue };
            require_listening(&listener)?;
            listener.set_nonblocking(true)?;
            let address = listener.local_addr()?;
            let path = address.as_pathname().unwrap_or(Path::new("(unnamed)"));
            (UnixListener::from_std(listener)?.into(), BoundAddress::unix(path))
        };
        sockets.push((socket.0.shared(), socket.1));
    }
    Ok(sockets)
}

/// Refuses a connected socket, which systemd passes for `Accept=yes`.
fn require_listening(socket: impl AsFd) -> io::Result<()> {
    let why = "it is a connection, not a socket that listens: set Accept=no in the socket unit";
    if socket_acceptconn(socket)? { Ok(()) } else { Err(io::Error::other(why)) }
}

fn over_tcp(listener: TcpListener, scheme: &'static str) -> io::Result<Socket> {
    let bound = BoundAddress::tcp(scheme, listener.local_addr()?);
    Ok((listener.into(), bound))
}

/// Binds the socket for metrics, if `name` is given, and logs its address.
pub(super) async fn listen_for_metrics(name: Option<&str>) -> Result<Option<TcpListener>, Failure> {
    let Some(name) = name else { return Ok(None) };
    let listening = async {
        let listener = TcpListener::bind(name).await?;
        let address = listener.local_addr()?;
        tracing::info!(%address, "metrics are served");
        Ok(Some(listener))
    };
    listening.await.map_err(|error| cannot_listen(name, "--metrics-listen", &error))
}

async fn bind_tcp(name: &str, backlog: i32, scheme: &'static str) -> io::Result<Socket> {
    let listener = TcpListener::bind(name).await?;
    // Replaces the backlog of 1024 that tokio has set.
    set_backlog(&listener, backlog)?;
    over_tcp(listener, scheme)
}

fn cannot_listen(address: &str, flag: &str, error: &io::Error) -> Failure {
    Failure::runtime(format!(
        "{flag}: cannot listen on {address}: {error}; name a free address of this machine"
    ))
}

/// A Unix socket's file. Dropping the value removes the file.
#[derive(Debug)]
struct SocketFile {
    /// The absolute path.
    path: PathBuf,
    /// Device and inode: a file that another process has put in its place is not removed.
    identity: (u64, u64),
}

impl Drop for SocketFile {
    fn drop(&mut self) {
        if identity(&self.path).is_ok_and(|present| present == self.identity) {
            // The next start replaces a socket file that remains.
            let _ = fs::remove_file(&self.path);
        }
    }
}

/// Listens on a Unix socket at `path`.
///
/// The owner of the process and its group may connect. The file is removed when the service stops. Replaces the file of a
/// killed process. Refuses the file of a listening process, and a file that is no socket.
async fn bind_unix(path: &Path, backlog: i32) -> io::Result<Socket> {
    let path = absolute(path)?;
    let _lock = lock_folder_of(&path).await?;
    remove_stale(&path).await?;
    let socket = UnixSocket::new_stream()?;
    socket.bind(&path)?;
    let file = SocketFile { identity: identity(&path)?, path };
    // Set before `listen`, so that no other user can connect.
    fs::set_permissions(&file.path, Permissions::from_mode(MODE))?;
    let listener = Listener::from(socket.listen(backlog.unsigned_abs())?);
    let bound = BoundAddress::unix(&file.path);
    Ok((listener.on_close(move || drop(file)), bound))
}

/// Removes the socket file of a process that has ended.
async fn remove_stale(path: &Path) -> io::Result<()> {
    match fs::symlink_metadata(path) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(()),
        Err(error) => return Err(error),
        Ok(found) if !found.file_type().is_socket() => {
            let why = "the path is a file that is no socket; choose another path";
            return Err(io::Error::other(why));
        }
        Ok(_) => (),
    }
    match UnixStream::connect(path).await {
        Err(error) if error.kind() == io::ErrorKind::ConnectionRefused => {
            tracing::warn!(path = %path.display(), "replacing the socket file of a process that has ended");
            fs::remove_file(path)
        }
        // An error may also mean that the queue is full, or that this user may not connect.
        Ok(_) | Err(_) => Err(io::Error::other(
            "a process listens there; stop it ('ss -lxp' shows it), or choose another path with --listen",
        )),
    }
}

fn identity(path: &Path) -> io::Result<(u64, u64)> {
    let found = fs::symlink_metadata(path)?;
    Ok((found.dev(), found.ino()))
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    use super::BoundAddress;

    #[test]
    fn an_unspecified_address_is_reached_through_the_loopback() {
        for (address, shown) in [
            ("0.0.0.0:80", "127.0.0.1:80"),
            ("[::]:80", "[::1]:80"),
            ("192.0.2.1:80", "192.0.2.1:80"),
            ("[::1]:80", "[::1]:80"),
        ] {
            let bound = BoundAddress::tcp("https", address.parse().unwrap());
            assert_eq!(bound.shown, format!("https://{address}"));
            assert_eq!(
                [bound.curl, bound.url.unwrap()],
                [(); 2].map(|()| format!("https://{shown}"))
            );
        }
        let socket = BoundAddress::unix(Path::new("/run/x"));
        assert_eq!(socket.curl, "--unix-socket '/run/x' http://localhost");
    }
}
