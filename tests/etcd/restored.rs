//! The data of a node are restored from a backup while instances run. New animals then get the same revisions again.

use std::{fs, path::Path, process::Command};

use petstore_testing::{Etcd, needs};

use crate::support::{
    catalogue::{add, pet, pets},
    client::Client,
    server::{Launch, Server},
    store::Store,
    wait,
};

/// The requests that make two users, and then require a login: `root`, and `keeper`, who may use keys below `zoo/`.
const USERS: [(&str, &str); 7] = [
    ("user/add", r#"{"name":"root","password":"of-all"}"#),
    ("user/grant", r#"{"user":"root","role":"root"}"#),
    ("role/add", r#"{"name":"zoo"}"#),
    // From `zoo/` to `zoo0`, the first key without this prefix.
    (
        "role/grant",
        r#"{"name":"zoo","perm":{"permType":2,"key":"em9vLw==","range_end":"em9vMA=="}}"#,
    ),
    ("user/add", r#"{"name":"keeper","password":"of-the-zoo"}"#),
    ("user/grant", r#"{"user":"keeper","role":"zoo"}"#),
    ("enable", "{}"),
];
/// The number of logins after the backup. Each is an entry in etcd's log, so the token of an instance that starts later
/// is ahead of the restored log. The node may not answer a request with such a token.
const LOGINS: usize = 40;

/// Stops the node, replaces the folder `to` by a copy of `from`, and starts the node again.
fn copy(etcd: &Etcd, from: &Path, to: &Path) {
    etcd.kill(0);
    let _ = fs::remove_dir_all(to);
    assert!(Command::new("cp").arg("-a").args([from, to]).status().unwrap().success());
    etcd.resume(0).unwrap();
    etcd.wait_for_leader(None).unwrap();
}

/// Returns the tag of the first page, which must have `count` animals.
#[track_caller]
fn tag_of(client: &Client, count: usize) -> String {
    let page = client.get("/v1/pets").send().is(200);
    assert_eq!(pets(&page).len(), count);
    page.must("etag").to_owned()
}

#[needs(etcd, time)]
#[test]
fn an_instance_on_a_restored_node_logs_in_again_and_gives_new_pages_new_tags() {
    let etcd = Etcd::prepare(1, None).unwrap();
    // Cheap hashes of passwords.
    etcd.resume_with(0, &["--bcrypt-cost=4".to_owned()]).unwrap();
    etcd.wait_for_leader(None).unwrap();
    for (path, request) in USERS {
        etcd.post(0, &format!("/v3/auth/{path}"), request).unwrap();
    }
    let store = Store::at(&format!("etcd://keeper:of-the-zoo@{}/zoo", etcd.endpoints()));
    let backup = store.folder().join("backup");
    let early = Launch::on(&store).start();
    add(&early.client(), &pet("one"));
    copy(&etcd, &etcd.data(0), &backup);
    for _ in 0..LOGINS {
        let user = r#"{"name":"keeper","password":"of-the-zoo"}"#;
        etcd.post(0, "/v3/auth/authenticate", user).unwrap();
    }
    let late = Launch::on(&store).start();
    add(&late.client(), &pet("two"));
    add(&late.client(), &pet("three"));
    let clients = [early, late].map(|server: Server| (server.client(), server));
    let tags = clients.each_ref().map(|(client, _)| tag_of(client, 3));
    copy(&etcd, &backup, &etcd.data(0));
    for ((client, _), tag) in clients.iter().zip(&tags) {
        let call = client.get("/v1/pets").header("if-none-match", tag);
        let answers = || call.clone().send().status != 503;
        wait::until("the instance works again", answers);
        assert_eq!(pets(&call.send().is(200)).len(), 1);
    }
    add(&clients[0].0, &pet("zwei"));
    add(&clients[1].0, &pet("drei"));
    for ((client, _), tag) in clients.iter().zip(&tags) {
        let page = client.get("/v1/pets").header("if-none-match", tag).send().is(200);
        assert!(page.text().contains("drei") || page.text().contains("zwei"), "{page:?}");
    }
}
