//! A file of the store that is removed or replaced while the service runs.

use std::{fs, path::PathBuf};

use crate::support::{
    catalogue::{add, everything, pet},
    server::Server,
    store::Store,
    wait,
};

/// Asserts that the service acknowledges no more writes and logs the reason.
#[track_caller]
fn notices(server: &Server, path: &str) {
    let id = "the-request-that-was-refused";
    let refusal = server.client().add(&pet("lost")).header("x-request-id", id).send();
    refusal.refuses(503, "unavailable");
    let line = server.log_line(id).to_string();
    assert!(line.contains(path), "{line}");
    wait::until("the service is not ready", || server.client().get("/readyz").send().status == 503);
}

fn log_file(store: &Store) -> PathBuf {
    store.folder().join("petstore.db-wal")
}

#[test]
fn no_write_is_acknowledged_when_a_file_was_removed() {
    for log in [false, true] {
        let (store, server) = Server::on_file();
        add(&server.client(), &pet("before"));
        let path = if log { log_file(&store) } else { store.file() };
        fs::remove_file(&path).unwrap();
        notices(&server, &format!("{} was removed while the store was open", path.display()));
    }
}

#[test]
fn no_write_is_acknowledged_when_a_file_was_replaced() {
    for log in [false, true] {
        let (store, server) = Server::on_file();
        add(&server.client(), &pet("before"));
        let path = if log { log_file(&store) } else { store.file() };
        let other = store.folder().join("other");
        fs::copy(&path, &other).unwrap();
        fs::rename(&other, &path).unwrap();
        notices(&server, &format!("{} was replaced while the store was open", path.display()));
    }
}

#[test]
fn a_file_that_is_put_back_is_served_again() {
    let (store, server) = Server::on_file();
    let client = server.client();
    let before = add(&client, &pet("before"));
    let away = store.folder().join("away");
    fs::rename(store.file(), &away).unwrap();
    notices(&server, "was removed");
    fs::rename(&away, store.file()).unwrap();
    let after = add(&client, &pet("after"));
    wait::until("the service is ready", || client.get("/readyz").send().status == 200);
    assert_eq!(everything(&client), [before, after]);
}

#[test]
fn a_service_that_writes_nothing_is_not_ready_when_its_file_was_removed() {
    let (store, server) = Server::on_file();
    // From here on a reader has the file open.
    server.client().get("/readyz").send().is(200);
    fs::remove_file(store.file()).unwrap();
    wait::until("the service is not ready", || server.client().get("/readyz").send().status == 503);
}
