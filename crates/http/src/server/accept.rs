//! The next connection, whatever accepts it.

use std::{io, time::Duration};

use tokio::time::sleep;

/// The pause after a connection could not be accepted, for example because the process has no file
/// descriptor left: without it the loop would spin.
const ACCEPT_PAUSE: Duration = Duration::from_millis(100);

/// What `accept` gives, called again until it does.
pub(super) async fn next<T, F>(accept: impl Fn() -> F) -> T
where
    F: Future<Output = io::Result<T>>,
{
    let mut failing = false;
    loop {
        match accept().await {
            Ok(accepted) => return accepted,
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
