//! Complete moves, there and back.

use super::{
    animals,
    commands::{hand_over, load, pause, populate, serve},
};
use crate::{
    load::Load,
    moving::commands::verify,
    support::{
        client::Client,
        command::petstore,
        server::{Launch, Server},
        store::{Kind, Store, on_stores},
        wait,
    },
};

/// The number of additions that are repeated after a move.
const REPEATED: usize = 20;

/// Asserts that the service and other commands refuse a sealed store, and name the new store.
fn refuses(from: &Store, to: &Store) {
    let shown = if to.url.contains("postgres:") { "postgres://" } else { &to.url };
    let expected = format!("was handed over to {shown}");
    let file = from.folder().join("copy");
    let file = file.to_str().unwrap();
    for words in [
        &["keys", "create", "new", "--store", &from.url][..],
        &["keys", "list", "--store", &from.url],
        &["export", "--store", &from.url],
        &["import", "--store", &from.url],
        &["check", "--store", &from.url],
        &["store", "move", "--dry-run", "--from", &from.url, "--to", "sqlite:/nowhere/missing.db"],
    ] {
        petstore(words).finish().fails(1, &expected);
    }
    if from.url.contains("sqlite:") {
        petstore(&["backup", "--to", file, "--store", &from.url]).finish().fails(1, &expected);
    }
    // A slow machine logs more before the line that says why.
    let refused = Launch::on(from).finish();
    assert!(refused.code == Some(78) && refused.stderr.contains(&expected), "{refused:?}");
}

/// Moves a store there and back under load. Returns how long writes waited each time, in milliseconds.
fn there_and_back(kinds: [Kind; 2]) -> [u64; 2] {
    let [one, other] = &kinds.map(Store::new);
    let services = if kinds.contains(&Kind::Sqlite) { 2 } else { 3 };
    let all = populate(one, animals());
    let key = one.new_key("before");
    let servers: Vec<Server> = (0..services).map(|_| serve(one, other)).collect();
    let clients: Vec<Client> = servers.iter().map(Server::client).collect();
    let mut loads = load(&clients, &all);
    loads.iter_mut().for_each(Load::continues);
    let pauses = [(one, other), (other, one)].map(|(from, to)| {
        let waited = pause(&hand_over(from, to).succeeds());
        loads.iter_mut().for_each(Load::continues);
        for client in &clients {
            client.get("/v1/pets?limit=1").key(&key).send().is(200);
        }
        waited
    });
    loads.iter_mut().for_each(Load::stop);
    for client in &clients {
        all.is_kept_by(client);
    }
    one.keys(&["revoke", "before"]).succeeds();
    wait::until("the revoked key is refused", || {
        clients.iter().all(|client| client.get("/v1/pets?limit=1").key(&key).send().status == 401)
    });
    hand_over(one, other).succeeds();
    let again = hand_over(one, other).succeeds();
    assert!(again.contains(" before, and writes waited 0 ms; restart services"), "{again}");
    refuses(one, other);
    all.repeat(&clients[0], REPEATED);
    drop(servers);
    verify(&one.url, &other.url);

    // Two services have the stores in opposite orders, and one service has only the new store.
    for server in [serve(one, other), serve(other, one), Launch::on(other).start()] {
        all.repeat(&server.client(), REPEATED);
        all.is_kept_by(&server.client());
        server.client().get("/v1/pets").key(&key).send().is(401);
    }
    petstore(&["check", "--store", &other.url]).finish().succeeds();
    pauses
}

fn a_move_there_and_back_refuses_no_request(kinds: [Kind; 2]) {
    there_and_back(kinds);
}

fn writes_wait_less_than_a_second_in_each_direction(kinds: [Kind; 2]) {
    let pauses = there_and_back(kinds);
    assert!(pauses.iter().all(|pause| *pause < 1000), "writes waited {pauses:?} ms");
}

on_stores!(
    pairs:
    a_move_there_and_back_refuses_no_request,
    #[petstore_testing::needs(quiet)]
    writes_wait_less_than_a_second_in_each_direction,
);
