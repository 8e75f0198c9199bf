//! A Unix socket: its file, who may connect, and what is left of a process that was killed.
//!
//! The owner of the process and its group may connect (mode 0660): a client needs an API key besides. The
//! file is removed when the service stops. One that a killed process has left is replaced; one that a
//! process listens on, and a file that is no socket, are left alone.

use std::{
    fs::{self, Permissions},
    io,
    os::unix::fs::{FileTypeExt as _, MetadataExt as _, PermissionsExt as _},
    path::{Path, PathBuf, absolute},
};

use socket2::{Domain, SockAddr, Type};
use tokio::net::{UnixListener, UnixStream};

use crate::partial_file::lock_folder_of;

/// Who may connect: the owner and the group.
const MODE: u32 = 0o660;

/// The file of a socket, which is removed with this value.
#[derive(Debug)]
pub(super) struct SocketFile {
    /// The absolute path.
    pub(super) path: PathBuf,
    /// Device and inode: another process may have put its own file there.
    identity: (u64, u64),
}

impl Drop for SocketFile {
    fn drop(&mut self) {
        if identity(&self.path).is_ok_and(|present| present == self.identity) {
            // What is left is replaced at the next start.
            let _ = fs::remove_file(&self.path);
        }
    }
}

/// Listens at `path`, where up to `backlog` connections wait to be accepted.
pub(super) async fn bind(path: &Path, backlog: u32) -> io::Result<(UnixListener, SocketFile)> {
    let path = absolute(path)?;
    let _lock = lock_folder_of(&path)?;
    remove_stale(&path).await?;
    let socket = socket2::Socket::new(Domain::UNIX, Type::STREAM, None)?;
    socket.bind(&SockAddr::unix(&path)?)?;
    let file = SocketFile { identity: identity(&path)?, path };
    // Before anybody can connect.
    fs::set_permissions(&file.path, Permissions::from_mode(MODE))?;
    socket.listen(i32::try_from(backlog).unwrap_or(i32::MAX))?;
    socket.set_nonblocking(true)?;
    let listener: std::os::unix::net::UnixListener = socket.into();
    Ok((UnixListener::from_std(listener)?, file))
}

/// Removes the file of a socket on which nobody listens.
async fn remove_stale(path: &Path) -> io::Result<()> {
    match fs::symlink_metadata(path) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(()),
        Err(error) => return Err(error),
        Ok(found) if !found.file_type().is_socket() => {
            let why =
                "there is a file that is no socket; it was left untouched: choose another path";
            return Err(io::Error::other(why));
        }
        Ok(_) => (),
    }
    match UnixStream::connect(path).await {
        Err(error) if error.kind() == io::ErrorKind::ConnectionRefused => {
            tracing::warn!(path = %path.display(), "the socket of a process that has ended is replaced");
            fs::remove_file(path)
        }
        // Also if its queue is full, or it is for others.
        Ok(_) | Err(_) => Err(io::Error::other(
            "a process listens there; stop it ('ss -lxp' shows it), or choose another path with --listen",
        )),
    }
}

fn identity(path: &Path) -> io::Result<(u64, u64)> {
    let found = fs::symlink_metadata(path)?;
    Ok((found.dev(), found.ino()))
}
