//! The task that moves the bytes of a connection.

use std::{
    future,
    sync::{
        Arc,
        atomic::{AtomicBool, Ordering},
    },
    time::Duration,
};

use tokio::{
    io::{AsyncRead, AsyncWrite},
    sync::Notify,
    time,
};
use tokio_postgres::AsyncMessage;

/// How long a connection may take to close before it is cut off.
const CLOSE_TIMEOUT: Duration = Duration::from_secs(1);

/// Drives a connection until it ends. After it was dropped, the driver has a bounded time to send
/// what is left and the message of termination.
pub(super) async fn until_closed(driver: impl Future<Output = ()>, closing: Arc<Notify>) {
    let cut_off = async {
        closing.notified().await;
        time::sleep(CLOSE_TIMEOUT).await;
    };
    tokio::select! {
        () = driver => {}
        () = cut_off => {}
    }
}

/// The routine of the server that warns when a commit has stopped waiting for its standby. All else that it
/// says of a message depends on its language, and triggers may warn of anything.
const WAIT_FOR_STANDBY: &str = "SyncRepWaitForLSN";

/// Moves bytes until the connection ends. Why it ends, its statements report.
pub(super) async fn drive<S, T>(
    mut wire: tokio_postgres::Connection<S, T>,
    not_replicated: Arc<AtomicBool>,
) where
    S: AsyncRead + AsyncWrite + Unpin,
    T: AsyncRead + AsyncWrite + Unpin,
{
    while let Some(Ok(message)) = future::poll_fn(|context| wire.poll_message(context)).await {
        if let AsyncMessage::Notice(notice) = message
            && notice.routine() == Some(WAIT_FOR_STANDBY)
        {
            // Set before the commit's own answer is handed on: it comes behind this message.
            not_replicated.store(true, Ordering::Release);
        }
    }
}
