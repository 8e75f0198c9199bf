//! The next connection of a listener.

use std::{io, time::Duration};

use tokio::{
    net::{TcpListener, TcpStream},
    time::sleep,
};

use crate::failed_auth::Source;

/// The pause after a connection could not be accepted, for example because the process has no file
/// descriptor left: without it the loop would spin.
const ACCEPT_PAUSE: Duration = Duration::from_millis(100);

/// The next connection, and where it comes from.
pub(super) async fn next(listener: &TcpListener) -> (TcpStream, Source) {
    let mut failing = false;
    loop {
        match listener.accept().await {
            Ok((stream, peer)) => return (stream, peer.ip().into()),
            Err(error) if is_of_one_connection(&error) => (),
            Err(error) => {
                if !failing {
                    tracing::error!(%error, "connections cannot be accepted for now");
                }
                failing = true;
                sleep(ACCEPT_PAUSE).await;
            }
        }
    }
}

fn is_of_one_connection(error: &io::Error) -> bool {
    matches!(
        error.kind(),
        io::ErrorKind::ConnectionAborted
            | io::ErrorKind::ConnectionReset
            | io::ErrorKind::ConnectionRefused
            | io::ErrorKind::Interrupted
    )
}
