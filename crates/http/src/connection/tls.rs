//! The beginning of a connection over TLS.

use tokio::{
    io::{AsyncRead, AsyncWrite},
    time::{Instant, timeout_at},
};
use tokio_rustls::{TlsAcceptor, server::TlsStream};

/// The stream inside TLS; `None` if there is none at `deadline`, or the client speaks something else.
pub(super) async fn handshake<S>(
    io: S,
    acceptor: &TlsAcceptor,
    deadline: Instant,
) -> Option<TlsStream<S>>
where
    S: AsyncRead + AsyncWrite + Unpin,
{
    match timeout_at(deadline, acceptor.accept(io)).await {
        Ok(Ok(stream)) => Some(stream),
        Ok(Err(error)) => {
            // Anybody can cause it, as often as they like.
            tracing::debug!(%error, "a TLS handshake failed");
            None
        }
        Err(_) => None,
    }
}
