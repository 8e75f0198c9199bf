//! Raw HTTP/2 frames over a socket (RFC 9113), in numbers and orders that no library would send.

use std::{
    io::{Read as _, Write as _},
    net::{Shutdown, TcpStream},
    thread,
    time::Duration,
};

use super::{KEY, server::Server, wait};

pub(crate) const DATA: u8 = 0;
pub(crate) const HEADERS: u8 = 1;
pub(crate) const RST_STREAM: u8 = 3;
pub(crate) const SETTINGS: u8 = 4;
pub(crate) const PING: u8 = 6;
pub(crate) const WINDOW_UPDATE: u8 = 8;
pub(crate) const CONTINUATION: u8 = 9;

pub(crate) const END_STREAM: u8 = 1;
pub(crate) const END_HEADERS: u8 = 4;

const PREFACE: &[u8] = b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n";

/// Encodes one frame. The length of the payload must fit into two bytes.
pub(crate) fn frame(kind: u8, flags: u8, stream: u32, payload: &[u8]) -> Vec<u8> {
    let length = u16::try_from(payload.len()).unwrap().to_be_bytes();
    let mut frame = vec![0, length[0], length[1], kind, flags];
    frame.extend(stream.to_be_bytes());
    frame.extend(payload);
    frame
}

/// Encodes the header block of a request with the suite's API key, as literals without an index (RFC 7541).
pub(crate) fn request(method: &str, path: &str) -> Vec<u8> {
    let literal = |name: &str, value: &str| {
        let mut field = vec![0];
        for text in [name, value] {
            // A length below 127 is one byte.
            field.push(u8::try_from(text.len()).unwrap());
            field.extend(text.bytes());
        }
        field
    };
    let authorization = format!("Bearer {KEY}");
    [
        literal(":method", method),
        literal(":scheme", "http"),
        literal(":path", path),
        literal(":authority", "petstore"),
        literal("authorization", &authorization),
        literal("content-type", "application/json"),
    ]
    .concat()
}

/// A connection with a correct preface and any frames after it.
pub(crate) struct Frames(TcpStream);

impl Frames {
    pub(crate) fn to(server: &Server) -> Self {
        let mut stream = TcpStream::connect(server.address).unwrap();
        stream.set_write_timeout(Some(wait::LIMIT)).unwrap();
        stream.set_read_timeout(Some(wait::LIMIT)).unwrap();
        stream.write_all(&[PREFACE, &frame(SETTINGS, 0, 0, &[])].concat()).unwrap();
        Self(stream)
    }

    /// Sends frames. Returns `false` once the server has closed the connection.
    pub(crate) fn send(&mut self, frames: &[u8]) -> bool {
        self.0.write_all(frames).is_ok()
    }

    /// Reads and discards all answers, in a thread of its own.
    pub(crate) fn discard_answers(&self) {
        let mut stream = self.0.try_clone().unwrap();
        thread::spawn(move || {
            let mut buffer = [0; 16 * 1024];
            while stream.read(&mut buffer).is_ok_and(|read| read > 0) {}
        });
    }

    /// Returns whether the server closes the connection within `limit`.
    pub(crate) fn is_closed_within(&mut self, limit: Duration) -> bool {
        self.0.set_read_timeout(Some(limit)).unwrap();
        let mut buffer = [0; 16 * 1024];
        loop {
            match self.0.read(&mut buffer) {
                Ok(0) => return true,
                Ok(_) => (),
                Err(error) => return error.kind() == std::io::ErrorKind::ConnectionReset,
            }
        }
    }
}

impl Drop for Frames {
    fn drop(&mut self) {
        // This ends the thread that discards answers.
        let _ = self.0.shutdown(Shutdown::Both);
    }
}
