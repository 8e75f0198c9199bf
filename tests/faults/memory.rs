//! After a wave of connections, the memory that they took goes back to the system.

use std::{io::Write as _, net::TcpStream};

use crate::support::{
    catalogue::{add, pet},
    memory::{memory, peak_memory, reset_peak_memory},
    server::Launch,
    store::Store,
    wait,
};

/// At once: fewer than the files that a process may open by default.
const CONNECTIONS: usize = 800;
/// Of each head that does not end: below the limit of 16 KiB.
const HEAD: usize = 15 * 1024;

#[test]
fn memory_goes_back_to_the_system() {
    let server = Launch::on(&Store::memory()).flag("--header-timeout", "120s").start();
    // What a first request needs is there.
    add(&server.client(), &pet("before"));
    let before = reset_peak_memory(&server);

    let start = format!("GET /livez HTTP/1.1\r\nhost: a\r\nx: {}", "y".repeat(HEAD));
    let connections: Vec<TcpStream> = (0..CONNECTIONS)
        .map(|_| {
            let mut connection = TcpStream::connect(server.address).unwrap();
            connection.write_all(start.as_bytes()).unwrap();
            connection
        })
        .collect();
    let heads = (CONNECTIONS * HEAD / 1024) as u64;
    wait::until("the server holds the heads", || peak_memory(&server) > before + heads);
    drop(connections);

    let taken = peak_memory(&server) - before;
    wait::until("most of the memory is given back", || memory(&server) < before + taken / 3);
}
