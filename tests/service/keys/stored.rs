//! API keys in a store: their form, their last use, and corrupt rows.

use sha2::{Digest, Sha256};

use crate::support::{
    server::{Launch, Server},
    store::{Kind, Store, on_stores},
    wait,
};

on_stores! {
    sql:
    a_corrupt_key_is_refused_and_every_other_key_works,
}

fn digest(key: &str) -> Vec<u8> {
    Sha256::digest(key.as_bytes()).to_vec()
}

#[test]
fn a_key_is_stored_as_its_digest_and_first_characters() {
    let store = Store::sqlite();
    let key = store.new_key("web");
    let sql = "SELECT name, digest, prefix, expires_at, revoked_at FROM api_key";
    let row = store.connection().query_row(sql, [], |row| {
        let times: (Option<i64>, Option<i64>) = (row.get(3)?, row.get(4)?);
        Ok((row.get::<_, String>(0)?, row.get::<_, Vec<u8>>(1)?, row.get::<_, String>(2)?, times))
    });
    assert_eq!(row.unwrap(), ("web".into(), digest(&key), key[..8].into(), (None, None)));
}

#[test]
fn the_last_use_of_a_key_is_stored_at_the_stop_at_the_latest() {
    let (store, server) = Server::on_file();
    let first_key = store.folder().join("petstore.db.key");
    assert!(!first_key.exists(), "the environment brings a key, so none is made");
    let key = store.new_key("used");
    store.new_key("unused");
    server.client().get("/v1/pets").key(&key).send().is(200);
    server.stop();
    let noted = |name: &str| {
        let sql = "SELECT last_used_at >= created_at FROM api_key WHERE name = ?1";
        store.connection().query_row(sql, [name], |row| row.get::<_, Option<bool>>(0)).unwrap()
    };
    assert_eq!((noted("used"), noted("unused")), (Some(true), None));
}

fn a_corrupt_key_is_refused_and_every_other_key_works(kind: Kind) {
    let store = Store::new(kind);
    let [good, bad] = ["good", "bad"].map(|name| store.new_key(name));
    store.damage("UPDATE api_key SET digest = substr(digest, 1, 31) WHERE name = 'bad'");
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
