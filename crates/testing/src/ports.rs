//! Ports for programs that must know their port before they start.

use std::{
    net::{Ipv4Addr, TcpListener},
    ops::Range,
    os::{
        linux::net::SocketAddrExt as _,
        unix::net::{SocketAddr, UnixListener},
    },
    process,
    sync::{Mutex, PoisonError},
};

/// The first port that a process may claim. Linux assigns ports from 32,768 on by itself, also to the local end of each
/// connection (`ip_local_port_range` in ip(7)). A lower port stays free before its server starts, and while its server
/// is down.
const FIRST: u16 = 10_000;
/// The number of ports that a process claims at a time.
const BLOCK: u16 = 100;
const BLOCKS: u16 = 220;

/// Returns a port of 127.0.0.1 without a listener. No other call and no other running process gets the same port.
///
/// # Errors
/// All ports are in use.
pub fn free_port() -> Result<u16, String> {
    static PORTS: Mutex<Ports> = Mutex::new(Ports::new());
    PORTS.lock().unwrap_or_else(PoisonError::into_inner).next()
}

/// The ports of a process.
struct Ports {
    /// The claimed blocks. A claim is a Unix socket with the name of the block. Two processes cannot bind the same
    /// name, and the kernel releases the name when the process ends.
    claims: Vec<UnixListener>,
    /// The unused ports of the block that was claimed last.
    rest: Range<u16>,
}

impl Ports {
    const fn new() -> Self {
        Self { claims: Vec::new(), rest: 0..0 }
    }

    fn next(&mut self) -> Result<u16, String> {
        loop {
            // Other programs may listen there.
            let free = |port: &u16| TcpListener::bind((Ipv4Addr::LOCALHOST, *port)).is_ok();
            if let Some(port) = self.rest.by_ref().find(free) {
                return Ok(port);
            }
            self.claim()?;
        }
    }

    /// Claims another free block. The search starts at a block that depends on the process id.
    fn claim(&mut self) -> Result<(), String> {
        let start = u16::try_from(process::id() % u32::from(BLOCKS)).unwrap_or(0);
        for block in (start..BLOCKS).chain(0..start) {
            let name = SocketAddr::from_abstract_name(format!("petstore-test-ports-{block}"));
            let name = name.map_err(|error| error.to_string())?;
            if let Ok(claim) = UnixListener::bind_addr(&name) {
                let first = FIRST + block * BLOCK;
                self.claims.push(claim);
                self.rest = first..first + BLOCK;
                return Ok(());
            }
        }
        Err("no free port: all are taken".to_owned())
    }
}

#[cfg(test)]
mod tests {
    use std::{collections::HashSet, net::TcpListener};

    use super::{BLOCK, BLOCKS, FIRST, Ports};

    #[test]
    fn a_port_is_free_and_given_once_among_all_processes() {
        let (mut one, mut other) = (Ports::new(), Ports::new());
        let first = one.next().unwrap();
        let taken: Vec<_> =
            (first + 1..first + 6).map(|port| TcpListener::bind(("127.0.0.1", port))).collect();
        let mut given = HashSet::from([first]);
        for _ in 0..150 {
            for process in [&mut one, &mut other] {
                let port = process.next().unwrap();
                assert!((FIRST..FIRST + BLOCKS * BLOCK).contains(&port), "{port} is out of range");
                assert!(!(first..first + 6).contains(&port), "{port} is taken");
                assert!(given.insert(port), "{port} was given before");
            }
        }
        drop(taken);
    }
}
