//! Limits of the system: open files, which connections and the store share, and the queue of a listener.

use std::{fs, net::TcpStream, time::Duration};

use crate::support::{
    catalogue::{add, everything, pet},
    raw::{Raw, head},
    server::{Launch, Server},
    store::Store,
    wait,
};

#[test]
fn the_limit_on_open_files_is_raised_for_the_connections() {
    for (soft, expected) in [("-Sn 64", "1050"), ("-Sn 1051", "1051")] {
        let launch = Launch::on(&Store::memory()).flag("--max-connections", "50");
        let server = launch.with_limit(soft).start();
        let limits = fs::read_to_string(format!("/proc/{}/limits", server.pid())).unwrap();
        let line = limits.lines().find(|line| line.starts_with("Max open files")).unwrap();
        assert_eq!(line.split_whitespace().nth(3), Some(expected), "{line}");
    }
}

#[test]
fn connections_leave_the_store_its_files() {
    let store = Store::sqlite();
    let launch = Launch::on(&store).with_limit("-n 64");
    let server = launch.flag("--log-format", "json").start();
    let readiness = |raw: &mut Raw| {
        raw.send(head("GET", "/readyz", ""));
        raw.answer("GET", "/readyz").is(200);
    };
    let mut ours: Vec<Raw> = (0..4).map(|_| server.raw()).collect();
    ours.iter_mut().for_each(readiness);
    // More connections than there are descriptors.
    let _others: Vec<Raw> = (0..120).map(|_| server.raw()).collect();
    for _ in 0..20 {
        ours.iter_mut().for_each(readiness);
        for raw in &mut ours {
            raw.send(head("GET", "/v1/pets?limit=7", ""));
            raw.answer("GET", "/v1/pets?limit=7").is(200);
        }
    }
    let log = server.log();
    let lines: Vec<_> = log
        .lines()
        .filter(|line| line.contains("\"limit\":64,\"wanted\":11000,\"connections\":16"))
        .collect();
    assert_eq!(lines.len(), 1, "{log}");
    assert!(!log.contains("cannot be accepted"), "{log}");
}

#[test]
fn a_file_limit_that_allows_no_connection_is_reported() {
    for limit in [14, 48] {
        let launch = Launch::on(&Store::sqlite()).with_limit(&format!("-n {limit}"));
        let refusal = launch.finish().fails(1, "ulimit -n");
        assert!(refusal.stderr.contains(&format!("only {limit} files")), "{refusal:?}");
    }
    let store = Store::sqlite();
    let server = Launch::on(&store).with_limit("-n 49").start();
    server.raw();
    add(&server.client(), &pet("alone"));
    assert_eq!(everything(&server.client()).len(), 1);
}

/// Opens up to `connections` connections to a server that serves only one, until an attempt takes longer than `limit`.
/// Returns the number of connections in the queue. A connection stays there after its client has closed it.
fn queued(server: &Server, connections: usize, limit: Duration) -> usize {
    let _served = server.raw();
    let connect = |_| TcpStream::connect_timeout(&server.address, limit).ok();
    (0..connections).map_while(connect).count()
}

#[test]
fn the_backlog_is_the_maximum_of_the_system_or_the_value_of_the_flag() {
    let allowed = fs::read_to_string("/proc/sys/net/core/somaxconn").unwrap();
    let many = allowed.trim().parse::<usize>().unwrap().min(1500);
    let launch = || {
        let launch = Launch::on(&Store::memory()).flag("--max-connections", "1");
        launch.flag("--header-timeout", "1h")
    };
    assert_eq!(queued(&launch().start(), many, wait::LIMIT), many);
    // A full queue takes no further connection, so few of the attempts succeed.
    let short = launch().flag("--listen-backlog", "3").start();
    let in_queue = queued(&short, many, Duration::from_secs(2));
    assert!(in_queue < 10, "{in_queue} connections with a backlog of 3");
}
