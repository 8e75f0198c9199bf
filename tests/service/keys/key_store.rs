//! The form in which a store keeps an API key.

use rusqlite::Connection;
use sha2::{Digest, Sha256};

use crate::support::{server::Server, store::Store, wait};

fn open(store: &Store) -> Connection {
    let connection = Connection::open(store.file()).unwrap();
    connection.busy_timeout(wait::LIMIT).unwrap();
    connection
}

fn digest(key: &str) -> Vec<u8> {
    Sha256::digest(key.as_bytes()).to_vec()
}

/// Puts a key into a store behind the back of the service.
fn smuggle(store: &Store, key: &str) {
    let sql = "INSERT INTO api_key (name, digest, prefix, rights, created_at) \
         VALUES (?1, ?2, ?3, 'full', 0)";
    open(store).execute(sql, (format!("k{}", &key[34..]), digest(key), &key[..8])).unwrap();
}

#[test]
fn a_key_is_kept_as_its_digest_and_first_characters() {
    let store = Store::sqlite();
    let key = store.new_key("web");
    let sql = "SELECT name, digest, prefix, expires_at, revoked_at FROM api_key";
    let row = open(&store).query_row(sql, [], |row| {
        let times: (Option<i64>, Option<i64>) = (row.get(3)?, row.get(4)?);
        Ok((row.get::<_, String>(0)?, row.get::<_, Vec<u8>>(1)?, row.get::<_, String>(2)?, times))
    });
    assert_eq!(row.unwrap(), ("web".into(), digest(&key), key[..8].into(), (None, None)));
}

#[test]
fn a_key_with_a_wrong_check_sum_is_refused_even_if_the_store_has_it() {
    let (store, server) = Server::on_file();
    let client = server.client();
    let good = Store::sqlite().new_key("elsewhere");
    let last = if good.ends_with('A') { 'B' } else { 'A' };
    let mistyped = format!("{}{last}", &good[..good.len() - 1]);
    smuggle(&store, &mistyped);
    smuggle(&store, &good);
    wait::until("the server knows the key", || {
        client.get("/v1/pets").key(&good).send().status == 200
    });
    client.get("/v1/pets").key(&mistyped).send().refuses(401, "unauthorized");
}

#[test]
fn the_last_use_of_a_key_is_noted_at_the_end_at_the_latest() {
    let (store, server) = Server::on_file();
    let key = store.new_key("used");
    store.new_key("unused");
    server.client().get("/v1/pets").key(&key).send().is(200);
    server.stop();
    let noted = |name: &str| {
        let sql = "SELECT last_used_at >= created_at FROM api_key WHERE name = ?1";
        open(&store).query_row(sql, [name], |row| row.get::<_, Option<bool>>(0)).unwrap()
    };
    assert_eq!((noted("used"), noted("unused")), (Some(true), None));
}
