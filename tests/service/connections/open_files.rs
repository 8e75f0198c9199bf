//! File descriptors: connections leave enough for the store, and a limit that is too low is reported.

use crate::support::{
    catalogue::{add, everything, pet},
    command::petstore,
    raw::{Raw, head},
    server::Launch,
    store::Store,
};

#[test]
fn the_limit_on_open_files_is_raised_for_the_connections() {
    let store = Store::memory();
    let launch = Launch::on(&store).flag("--max-connections", "50");
    let server = launch.with_limit("-Sn 64").start();
    let limits = std::fs::read_to_string(format!("/proc/{}/limits", server.pid())).unwrap();
    let line = limits.lines().find(|line| line.starts_with("Max open files")).unwrap();
    assert_eq!(line.split_whitespace().nth(3), Some("1050"), "{line}");
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
    let lines: Vec<_> = log.lines().filter(|line| line.contains("\"connections\":16")).collect();
    assert_eq!(lines.len(), 1, "{log}");
    assert!(!log.contains("cannot be accepted"), "{log}");
}

#[test]
fn a_limit_that_leaves_no_connection_is_named() {
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

#[test]
fn a_failure_to_open_mentions_the_limit_on_open_files() {
    let store = Store::sqlite();
    store.new_key("web");
    let mut refused = 0;
    for limit in 8..40 {
        let list =
            petstore(&["keys", "list", "--store", &store.url]).with_limit(&format!("-Sn {limit}"));
        let done = list.finish();
        if done.code == Some(0) {
            continue;
        }
        assert!(!done.stderr.contains("permission denied"), "{limit}: {done:?}");
        let said = ["open files", "unable to open database file"];
        assert!(said.iter().any(|said| done.stderr.contains(said)), "{limit}: {done:?}");
        refused += usize::from(done.stderr.contains("allow more open files ('ulimit -n')"));
    }
    assert!(refused > 0, "no limit was too low for the store alone");
}
