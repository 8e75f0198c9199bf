//! Ports for programs that must be told theirs before they run.

use std::{
    net::{Ipv4Addr, TcpListener},
    process,
    sync::atomic::{AtomicU16, Ordering},
};

use crate::trouble::Trouble;

/// Linux gives ports from 32,768 on to any process that asks for any port, also to the near end of each
/// connection (`ip_local_port_range` of ip(7)). Below it a port stays free until it is used, and
/// while its server is down.
const FIRST: u16 = 10_000;
const COUNT: u16 = 22_000;

/// A port of 127.0.0.1 without a listener, another one at each call.
///
/// # Errors
/// A hundred in a row are taken.
pub fn free_port() -> Result<u16, Trouble> {
    static CALLS: AtomicU16 = AtomicU16::new(0);
    // Processes that run at the same time begin far from each other.
    let start = process::id() % u32::from(COUNT / 100) * 100;
    for _ in 0..100 {
        let step = u32::from(CALLS.fetch_add(1, Ordering::Relaxed));
        let offset = u16::try_from((start + step) % u32::from(COUNT));
        let port = FIRST + offset.map_err(|error| error.to_string())?;
        if TcpListener::bind((Ipv4Addr::LOCALHOST, port)).is_ok() {
            return Ok(port);
        }
    }
    Err("no free port: a hundred in a row are taken".to_owned())
}

#[cfg(test)]
mod tests {
    use std::net::TcpListener;

    use super::{COUNT, FIRST, free_port};

    #[test]
    fn a_port_is_free_given_once_and_none_of_the_kernels() {
        let first = free_port().unwrap();
        let taken: Vec<_> =
            (first + 1..first + 6).map(|port| TcpListener::bind(("127.0.0.1", port))).collect();
        let mut ports: Vec<u16> = (0..50).map(|_| free_port().unwrap()).collect();
        for port in &ports {
            assert!((FIRST..FIRST + COUNT).contains(port), "{port}");
            assert!(!(first..first + 6).contains(port), "{port} was given before or is taken");
        }
        drop(taken);
        ports.sort_unstable();
        ports.dedup();
        assert_eq!(ports.len(), 50, "some were given twice: {ports:?}");
    }
}
