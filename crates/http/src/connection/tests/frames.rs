//! HTTP/2 frames, written and read by a client.

use tokio::io::{AsyncRead, AsyncReadExt as _};

// Kinds of frames.
pub(super) const DATA: u8 = 0;
pub(super) const HEADERS: u8 = 1;
/// A frame that ends a stream early.
pub(super) const RESET: u8 = 3;
/// A frame that asks to end the connection.
pub(super) const GOAWAY: u8 = 7;
pub(super) const WINDOW_UPDATE: u8 = 8;
/// The setting of closed windows of streams.
pub(super) const NO_WINDOW: [u8; 6] = [0, 4, 0, 0, 0, 0];

/// Returns the preface of a client with `settings`.
pub(super) fn preface(settings: &[u8]) -> Vec<u8> {
    [b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n", &*frame(4, 0, 0, settings)].concat()
}

/// Returns a frame. In HEADERS, flag 4 ends the head and flag 1 ends the stream.
pub(super) fn frame(kind: u8, flags: u8, stream: u8, payload: &[u8]) -> Vec<u8> {
    let length = u16::try_from(payload.len()).unwrap().to_be_bytes();
    [&[0, length[0], length[1], kind, flags, 0, 0, 0, stream], payload].concat()
}

/// Returns frames that enlarge the windows of a connection and of a stream.
pub(super) fn window_updates(stream: u8, window: u32) -> Vec<u8> {
    [0, stream].map(|stream| frame(WINDOW_UPDATE, 0, stream, &window.to_be_bytes())).concat()
}

/// Returns the head of `GET path` in HPACK: two fields of the static table, a path and an authority.
pub(super) fn block(path: &str) -> Vec<u8> {
    let length = u8::try_from(path.len()).unwrap();
    [&[0x82, 0x86, 0x04, length], path.as_bytes(), &[0x01, 1, b'a']].concat()
}

/// Reads the next frame: its kind, stream and payload; `None` if the server ends the connection.
pub(super) async fn read_frame(client: &mut (impl AsyncRead + Unpin)) -> Option<(u8, u8, Vec<u8>)> {
    let mut head = [0; 9];
    client.read_exact(&mut head).await.ok()?;
    let mut payload = vec![0; usize::from(u16::from_be_bytes([head[1], head[2]]))];
    client.read_exact(&mut payload).await.unwrap();
    Some((head[3], head[8], payload))
}
