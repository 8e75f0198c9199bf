//! A client that sends bytes over a socket, for requests that no HTTP library would send.

use std::{
    io::{self, ErrorKind, Read, Write},
    net::{SocketAddr, TcpStream},
    time::Duration,
};

use super::{
    KEY,
    answer::Answer,
    rules::{self, Sent},
    wait,
};

/// A connection to a server.
pub(crate) struct Raw {
    stream: TcpStream,
    received: Vec<u8>,
}

/// Returns the head of a request with the suite's API key and the header lines `more`, each with `\r\n` at its end.
pub(crate) fn head(method: &str, target: &str, more: &str) -> String {
    format!(
        "{method} {target} HTTP/1.1\r\nhost: petstore\r\nauthorization: Bearer {KEY}\r\n{more}\r\n"
    )
}

/// Returns a whole POST of `body` to `/v1/pets`.
pub(crate) fn post(body: &str) -> String {
    let length = body.len();
    let more = format!("content-type: application/json\r\ncontent-length: {length}\r\n");
    head("POST", "/v1/pets", &more) + body
}

impl Raw {
    pub(crate) fn to(address: SocketAddr) -> Self {
        Self::try_to(address).unwrap()
    }

    /// Connects, or returns the error if nobody listens.
    pub(crate) fn try_to(address: SocketAddr) -> io::Result<Self> {
        let stream = TcpStream::connect(address)?;
        stream.set_read_timeout(Some(wait::LIMIT))?;
        stream.set_write_timeout(Some(wait::LIMIT))?;
        stream.set_nodelay(true)?;
        Ok(Self { stream, received: Vec::new() })
    }

    /// Returns the client's own address.
    pub(crate) fn local_address(&self) -> SocketAddr {
        self.stream.local_addr().unwrap()
    }

    /// Sends bytes, which the server must read.
    #[track_caller]
    pub(crate) fn send(&mut self, bytes: impl AsRef<[u8]>) {
        self.stream.write_all(bytes.as_ref()).unwrap();
    }

    /// Sends bytes. Returns `false` if the server closes the connection, or reads nothing within the limit.
    pub(crate) fn try_send(&mut self, bytes: impl AsRef<[u8]>, limit: Duration) -> bool {
        self.stream.set_write_timeout(Some(limit)).unwrap();
        self.stream.write_all(bytes.as_ref()).is_ok()
    }

    /// Reads one answer, and asserts that it keeps every rule.
    #[track_caller]
    pub(crate) fn answer(&mut self, method: &str, target: &str) -> Answer {
        self.answer_to(&Sent::new(method, target))
    }

    /// Reads one answer to the request `sent`, and asserts that it keeps every rule.
    #[track_caller]
    pub(crate) fn answer_to(&mut self, sent: &Sent) -> Answer {
        let answer = self.any_answer(sent.method == "HEAD");
        rules::check(sent, &answer);
        answer
    }

    /// Reads one answer, which may be an interim answer, without checking the rules.
    #[track_caller]
    pub(crate) fn any_answer(&mut self, to_head: bool) -> Answer {
        self.try_answer(to_head).unwrap_or_else(|error| {
            let so_far = String::from_utf8_lossy(&self.received);
            panic!("no whole answer: {error}: {so_far:?}")
        })
    }

    /// Reads one answer without checking the rules, or returns the error if none comes.
    pub(crate) fn try_answer(&mut self, to_head: bool) -> io::Result<Answer> {
        let end = loop {
            if let Some(at) = self.received.windows(4).position(|four| four == b"\r\n\r\n") {
                break at + 4;
            }
            self.fill()?;
        };
        let head = String::from_utf8(self.received.drain(..end).collect()).unwrap();
        let mut lines = head.trim_end().split("\r\n");
        let status_line = lines.next().unwrap();
        assert!(status_line.starts_with("HTTP/1.1 "), "{head}");
        let status = status_line[9..12].parse().unwrap();
        let headers = lines
            .map(|line| line.split_once(": ").or_else(|| line.split_once(':')).expect("a header"))
            .map(|(name, value)| (name.to_lowercase(), value.to_owned()))
            .collect();
        let mut answer = Answer { status, headers, body: Vec::new() };
        assert_eq!(answer.header("transfer-encoding"), None, "{answer:?}");
        let length = answer.header("content-length").map_or(0, |length| length.parse().unwrap());
        let length: usize = if to_head || [204, 304].contains(&status) { 0 } else { length };
        while self.received.len() < length {
            self.fill()?;
        }
        answer.body = self.received.drain(..length).collect();
        Ok(answer)
    }

    fn fill(&mut self) -> io::Result<()> {
        let mut buffer = [0; 16 * 1024];
        let read = self.stream.read(&mut buffer)?;
        self.received.extend_from_slice(&buffer[..read]);
        if read == 0 { Err(ErrorKind::UnexpectedEof.into()) } else { Ok(()) }
    }

    /// Asserts that the server sends nothing more and closes the connection.
    #[track_caller]
    pub(crate) fn is_closed(&mut self) {
        let rest = self.rest();
        assert!(rest.is_empty(), "the server sent more: {:?}", String::from_utf8_lossy(&rest));
    }

    /// Reads until the server closes the connection.
    #[track_caller]
    pub(crate) fn rest(&mut self) -> Vec<u8> {
        let mut rest = std::mem::take(&mut self.received);
        match self.stream.read_to_end(&mut rest) {
            Ok(_) => {}
            Err(error) if error.kind() == ErrorKind::ConnectionReset => {}
            Err(error) => panic!("the connection is still open: {error}"),
        }
        rest
    }

    /// Returns whether bytes or the end of the connection arrive within `limit`.
    pub(crate) fn hears_within(&mut self, limit: Duration) -> bool {
        self.stream.set_read_timeout(Some(limit)).unwrap();
        let heard = !self.received.is_empty() || self.stream.peek(&mut [0]).is_ok();
        self.stream.set_read_timeout(Some(wait::LIMIT)).unwrap();
        heard
    }
}
