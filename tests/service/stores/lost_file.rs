//! A file of the store that is removed or replaced while the service runs.

use std::fs;

use crate::support::{
    catalogue::{add, everything, pet},
    server::Server,
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

#[test]
fn no_write_is_acknowledged_when_a_file_was_removed_or_replaced() {
    for (name, how) in ["petstore.db", "petstore.db-wal"]
        .into_iter()
        .flat_map(|name| [(name, "removed"), (name, "replaced")])
    {
        let (store, server) = Server::on_file();
        add(&server.client(), &pet("before"));
        let [path, other] = [name, "other"].map(|name| store.folder().join(name));
        fs::copy(&path, &other).unwrap();
        if how == "removed" {
            fs::remove_file(&path).unwrap();
        } else {
            fs::rename(&other, &path).unwrap();
        }
        notices(&server, &format!("{} was {how} while the store was open", path.display()));
    }
}

#[test]
fn a_file_is_served_again_after_it_was_put_back() {
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
