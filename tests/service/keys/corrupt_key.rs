//! A corrupt row among the API keys costs that key and no other.

use crate::support::{
    server::{Launch, Server},
    store::{Kind, Store, on_stores},
    wait,
};

on_stores! {
    sql:
    a_corrupt_key_is_refused_and_every_other_opens,
    a_corrupt_key_is_named_and_the_others_are_administered,
}

/// A store with the keys `good` and `bad`, 1 and 2, of which the second is corrupt.
fn damaged(kind: Kind) -> (Store, [String; 2]) {
    let store = Store::new(kind);
    let keys = ["good", "bad"].map(|name| store.new_key(name));
    store.vandalise("UPDATE api_key SET digest = substr(digest, 1, 31) WHERE name = 'bad'");
    (store, keys)
}

fn a_corrupt_key_is_refused_and_every_other_opens(kind: Kind) {
    let (store, [good, bad]) = damaged(kind);
    let server = Launch::without_key(&store).start();
    let client = server.client();
    client.get("/v1/pets").key(&bad).send().refuses(401, "unauthorized");
    client.get("/v1/pets").key(&good).send().is(200);
    wait::until("the log names the key", || logged(&server) == 1);

    store.new_key("new");
    assert_eq!(logged(&server), 1);
    assert_eq!(server.stop().matches("API key 2").count(), 1);
}

fn logged(server: &Server) -> usize {
    let log = server.log();
    let named = |line: &&str| line.contains("API key 2") && line.contains("a digest has 32 bytes");
    log.lines().filter(named).count()
}

fn a_corrupt_key_is_named_and_the_others_are_administered(kind: Kind) {
    let (store, _keys) = damaged(kind);
    let listed = store.keys(&["list"]);
    assert_eq!(listed.code, Some(1), "{listed:?}");
    assert!(listed.stdout.contains("good") && !listed.stdout.contains("bad"), "{listed:?}");
    assert_eq!(listed.stderr.lines().count(), 1, "{listed:?}");
    assert!(listed.stderr.contains("API key 2 (a digest has 32 bytes)"), "{listed:?}");

    store.new_key("new");
    store.keys(&["roll", "good"]).succeeds();
    store.keys(&["revoke", "good"]).succeeds();
    for change in ["roll", "revoke"] {
        store.keys(&[change, "bad"]).fails(1, "API key 2");
    }
}
