//! Later waves of connections reuse the memory of earlier waves.

use std::{io::Write as _, net::TcpStream, thread, time::Duration};

use crate::support::{
    catalogue::{add, pet},
    memory::{memory, peak_memory, reset_peak_memory},
    server::{Launch, Server},
    store::Store,
    wait,
};

/// The number of connections in a wave: fewer than the default limit on open files.
const CONNECTIONS: usize = 800;
/// The bytes of each unfinished head: below the limit of 16 KiB.
const HEAD: usize = 15 * 1024;

#[test]
fn the_memory_of_a_wave_of_connections_serves_the_next_waves() {
    let server = Launch::on(&Store::memory()).flag("--header-timeout", "120s").start();
    // The first request allocates memory that stays.
    add(&server.client(), &pet("before"));

    let before = reset_peak_memory(&server);
    wave(&server);
    let taken = peak_memory(&server) - before;
    let heads = (CONNECTIONS * HEAD / 1024) as u64;
    assert!(taken > heads, "the wave took {taken} KiB: the server does not hold its heads");
    for _ in 0..4 {
        wave(&server);
    }
    let grown = peak_memory(&server) - before - taken;
    // The growth would be four times as large if each wave kept its memory. Under load, more threads allocate.
    assert!(
        grown < 2 * taken,
        "the first wave took {taken} KiB, and four more {grown} KiB besides"
    );
}

/// Opens all connections with unfinished heads at once, and waits until the server has read them.
fn wave(server: &Server) {
    let start = format!("GET /livez HTTP/1.1\r\nhost: a\r\nx: {}", "y".repeat(HEAD));
    let connections: Vec<TcpStream> = (0..CONNECTIONS)
        .map(|_| {
            let mut connection = TcpStream::connect(server.address).unwrap();
            connection.write_all(start.as_bytes()).unwrap();
            connection
        })
        .collect();
    let mut last = 0;
    wait::until("the server has read the heads", || {
        thread::sleep(Duration::from_millis(100));
        let now = memory(server);
        std::mem::replace(&mut last, now) == now
    });
    drop(connections);
}
