//! API keys of `petstore keys`: their creation and their rights. A running server honors a change within one second.

use std::fs;

use crate::support::{
    catalogue::pet, client::Client, command::petstore, server::Launch, store::Store, wait,
};

fn status(client: &Client, key: &str) -> u16 {
    client.get("/v1/pets").key(key).send().status
}

#[test]
fn a_relative_path_is_shown_in_full() {
    let store = Store::sqlite();
    let file = store.file();
    let folder = env!("CARGO_TARGET_TMPDIR");
    let up = "../".repeat(folder.matches('/').count());
    let url = format!("sqlite:{up}{}", file.strip_prefix("/").unwrap().display());
    let made = Store::at(&url).keys(&["create", "web"]);
    assert!(made.stderr.starts_with(&format!("made a new store: sqlite:{folder}/../")), "{made:?}");
}

#[test]
fn a_failed_key_creation_leaves_no_new_store() {
    let create = |store: &Store| petstore(&["keys", "create", "web", "--store", &store.url]);
    // Some of these limits prevent the store file, and others its companion files.
    for blocks in [0, 1, 40, 70, 100] {
        let store = Store::sqlite();
        let failed = create(&store).with_limit(&format!("-f {blocks}")).finish();
        failed.fails(1, "cannot open the store");
        let length = fs::metadata(store.file()).map_or(0, |file| file.len());
        assert_eq!(length, 0, "-f {blocks}: the failed command left a store file with content");
        store.new_key("other");
        let failed = create(&store).with_limit("-f 1").finish();
        failed.fails(1, "raise the limit on the size of files");
        assert!(!store.keys(&["list"]).succeeds().contains("web"));
    }
    let store = Store::sqlite();
    store.new_key("other");
    let closed = create(&store).behind(["/bin/sh", "-c", "exec \"$@\" >&-", "sh"]).finish();
    closed.fails(1, "no key was created, because stdout would lose it: it is closed");
}

#[test]
fn a_read_only_key_adds_nothing() {
    let store = Store::sqlite();
    let server = Launch::on(&store).flag("--shutdown-grace", "0s").start();
    let first_key = store.folder().join("petstore.db.key");
    assert!(!first_key.exists(), "the environment brings a key, so none is made");
    let made = store.keys(&["create", "report", "--read-only"]);
    let note = "The key 'report' is shown this once. A running service accepts it within a second. \
                It is valid until it is revoked. It may only read.\n";
    assert_eq!(made.stderr, note);
    let first = made.succeeds().trim_end().to_owned();
    assert!(first.starts_with("psr_"), "{first}");
    let full = store.new_key("web");
    let rolled = store.keys(&["roll", "report"]).succeeds().trim_end().to_owned();
    for client in [server.client(), server.http2()] {
        for key in [&first, &rolled] {
            wait::until("the key is known", || status(&client, key) == 200);
            client.head("/v1/pets").key(key).send().is(200);
            client.options("/v1/pets").key(key).send().is(204);
            client.call("DELETE", "/v1/pets").key(key).send().refuses(405, "method_not_allowed");
            // The refusal comes before any check of the body.
            let text = client.post("/v1/pets", "{").content_type("text/plain");
            text.key(key).send().refuses(403, "forbidden");
        }
        let raised = first.replacen("psr_", "pst_", 1);
        client.add(&pet("Rex")).key(&raised).send().refuses(401, "unauthorized");
    }
    server.client().add(&pet("Rex")).key(&full).send().is(201);
    // The last uses are stored also if the stop cuts connections off.
    let mut open = server.raw();
    open.send("GET /livez HTTP/1.1\r\n");
    server.stop();
    let list = store.keys(&["list", "--output", "json"]).succeeds();
    assert_eq!(list.matches("\"read-only\"").count(), 2, "{list}");
    assert!(!list.contains("\"lastUsedAt\": null") && list.contains("lastUsedAt"), "{list}");
}
