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
fn no_write_is_acknowledged_while_a_file_is_removed_or_replaced() {
    for (name, how) in ["petstore.db", "petstore.db-wal"]
        .into_iter()
        .flat_map(|name| [(name, "removed"), (name, "replaced")])
    {
        let (store, server) = Server::on_file();
        let client = server.client();
        let before = add(&client, &pet("before"));
        let [path, away] = [name, "away"].map(|name| store.folder().join(name));
        fs::rename(&path, &away).unwrap();
        if how == "replaced" {
            fs::copy(&away, &path).unwrap();
        }
        notices(&server, &format!("{} was {how} while the store was open", path.display()));
        if (name, how) == ("petstore.db", "removed") {
            fs::rename(&away, &path).unwrap();
            let after = add(&client, &pet("after"));
            wait::until("the service is ready", || client.get("/readyz").send().status == 200);
            assert_eq!(everything(&client), [before, after]);
        }
    }
}
