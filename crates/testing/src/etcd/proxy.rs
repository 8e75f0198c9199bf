//! A network between a client and a node that loses answers.

use std::{
    io::{self, Read, Write as _},
    net::{TcpListener, TcpStream},
    sync::Arc,
    thread,
};

use super::Etcd;

impl Etcd {
    /// Starts a proxy to the only node, with one thread for each connection, until the process ends. `is_lost` is called
    /// with each request before the node gets it, and returns whether the answer of the node is lost. Returns the
    /// proxy's address, such as `127.0.0.1:4711`.
    ///
    /// # Errors
    /// No port can be opened.
    pub fn proxy(
        &self,
        is_lost: impl Fn(&str) -> bool + Send + Sync + 'static,
    ) -> io::Result<String> {
        let listener = TcpListener::bind("127.0.0.1:0")?;
        let address = listener.local_addr()?.to_string();
        let (node, is_lost) = (self.endpoints(), Arc::new(is_lost));
        thread::spawn(move || {
            for client in listener.incoming().flatten() {
                let (node, is_lost) = (node.clone(), Arc::clone(&is_lost));
                thread::spawn(move || forward(client, &node, &*is_lost));
            }
        });
        Ok(address)
    }
}

fn forward(mut client: TcpStream, node: &str, is_lost: &impl Fn(&str) -> bool) -> io::Result<()> {
    let mut node = TcpStream::connect(node)?;
    loop {
        let request = message(&mut client)?;
        let is_lost = is_lost(&String::from_utf8_lossy(&request));
        node.write_all(&request)?;
        let answer = message(&mut node)?;
        if is_lost {
            return Ok(());
        }
        client.write_all(&answer)?;
    }
}

/// Reads a message with its head and body.
fn message(stream: &mut impl Read) -> io::Result<Vec<u8>> {
    let mut all = Vec::new();
    read_until(stream, &mut all, |all| all.ends_with(b"\r\n\r\n"))?;
    let head = String::from_utf8_lossy(&all).to_lowercase();
    let length = head.split("content-length: ").nth(1).and_then(|rest| rest.split("\r\n").next());
    if let Some(length) = length {
        let mut body = vec![0; length.parse().map_err(io::Error::other)?];
        stream.read_exact(&mut body)?;
        all.extend(body);
    } else {
        // Trailers may follow the last chunk.
        let chunks = all.len() - 2;
        let has_last = |all: &[u8]| all[chunks..].windows(5).any(|line| line == b"\r\n0\r\n");
        read_until(stream, &mut all, |all| all.ends_with(b"\r\n\r\n") && has_last(all))?;
    }
    Ok(all)
}

fn read_until(
    stream: &mut impl Read,
    all: &mut Vec<u8>,
    is_end: impl Fn(&[u8]) -> bool,
) -> io::Result<()> {
    let mut byte = [0];
    while !is_end(all) {
        stream.read_exact(&mut byte)?;
        all.push(byte[0]);
    }
    Ok(())
}
