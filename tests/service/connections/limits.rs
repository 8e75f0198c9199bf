//! Limits of the system: open files, which connections and the store share, and the queue of a listener.

use std::{fs, iter, net::TcpStream, time::Duration};

use socket2::{Domain, SockAddr, Socket, Type};

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

/// Opens up to `many` connections to a server that serves only one, until an attempt fails. Returns the number of
/// connections in the queue. A connection stays there after its client has closed it.
fn queued<T>(server: &Server, many: usize, connect: impl Fn() -> Option<T>) -> usize {
    let _served = server.raw();
    iter::repeat_with(connect).take(many).map_while(|connected| connected).count()
}

#[test]
fn the_backlog_is_the_maximum_of_the_system_or_the_value_of_the_flag() {
    let allowed = fs::read_to_string("/proc/sys/net/core/somaxconn").unwrap();
    let many = allowed.trim().parse::<usize>().unwrap().min(1500);
    let launch = || {
        let launch = Launch::on(&Store::memory()).flag("--max-connections", "1");
        launch.flag("--header-timeout", "1h")
    };
    let tcp = |server: &Server, limit| TcpStream::connect_timeout(&server.address, limit).ok();
    let long = launch().start();
    assert_eq!(queued(&long, many, || tcp(&long, wait::LIMIT)), many);
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("http.sock");
    let listen = format!("unix:{}", path.display());
    let short = launch().flag("--listen-backlog", "3").flag("--listen", &listen).start();
    let unix = || {
        let socket = Socket::new(Domain::UNIX, Type::STREAM, None).unwrap();
        socket.set_nonblocking(true).unwrap();
        socket.connect(&SockAddr::unix(&path).unwrap()).ok()
    };
    let by_unix = queued(&short, many, unix);
    let by_tcp = queued(&short, many, || tcp(&short, Duration::from_secs(2)));
    // A full queue takes no further connection, so few of the attempts succeed.
    assert!(by_unix < 10 && by_tcp < 10, "a backlog of 3 holds {by_unix} and {by_tcp}");
}
