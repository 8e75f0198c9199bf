//! Whole moves, there and back.

use petstore_testing::needs;

use super::{
    animals,
    commands::{follow, status, step, until_caught_up},
    load::Load,
    populated::populate,
};
use crate::{
    moving::{animals::many, commands::import},
    support::{
        additions::{Addition, everything_is_there},
        client::Client,
        command::petstore,
        server::{Launch, Server},
        store::Store,
        wait,
    },
};

fn replays(client: &Client, additions: &[Addition]) {
    for addition in additions.iter().filter(|addition| addition.key.is_some()).take(50) {
        let answer = addition.call(client).send().is(201);
        assert_eq!(answer.must("idempotency-replayed"), "true");
        assert_eq!(Some(answer.json()), addition.acknowledged);
    }
}

/// Moves there, back, there again and finishes, while `services` of them take requests.
fn moves(from: &Store, to: &Store, services: usize) {
    let mut additions = populate(from, animals());
    let key = from.new_key("before");
    let servers: Vec<Server> = (0..services).map(|_| Launch::on(from).start()).collect();
    let clients: Vec<Client> = servers.iter().map(Server::client).collect();
    let load = Load::start("m", &clients);
    load.goes_on();
    let follower = follow(from, to);
    until_caught_up(from, to);
    load.goes_on();
    for name in ["flip", "back", "flip"] {
        let said = step(from, to, name).succeeds();
        let decides = if name == "flip" { to } else { from };
        assert_eq!(said.contains("postgres:"), decides.url.contains("postgres:"), "{said}");
        load.goes_on();
        clients[0].get("/v1/pets?limit=1").key(&key).send().is(200);
    }
    from.keys(&["revoke", "before"])
        .fails(1, "this store does not decide in its move; use --store ");
    to.keys(&["revoke", "before"]).succeeds();
    wait::until("the revoked key is refused", || {
        clients.iter().all(|client| client.get("/v1/pets?limit=1").key(&key).send().status == 401)
    });
    assert_eq!(status(from, to)["differences"], 0);
    step(from, to, "finish").succeeds();
    load.goes_on();
    drop(follower);
    additions.extend(load.end());
    for client in &clients {
        everything_is_there(client, &additions);
    }
    replays(&clients[0], &additions);
    drop(servers);

    Launch::on(from).finish().fails(1, "this store was moved to ");
    let server = Launch::on(to).start();
    everything_is_there(&server.client(), &additions);
    replays(&server.client(), &additions);
    server.client().get("/v1/pets").key(&key).send().is(401);
    petstore(&["check", "--store", &to.url]).finish().succeeds();
}

#[needs(postgres)]
#[test]
fn from_sqlite_to_postgres() {
    let Some(to) = Store::postgres() else { return };
    moves(&Store::sqlite(), &to, 1);
}

#[needs(postgres)]
#[test]
fn from_postgres_to_sqlite() {
    let Some(from) = Store::postgres() else { return };
    moves(&from, &Store::sqlite(), 1);
}

#[needs(postgres)]
#[test]
fn from_postgres_to_postgres_with_two_instances() {
    let Some((from, to)) = Store::postgres().zip(Store::postgres()) else { return };
    moves(&from, &to, 2);
}

#[test]
fn from_sqlite_to_sqlite() {
    moves(&Store::sqlite(), &Store::sqlite(), 2);
}

#[test]
fn a_target_that_holds_something_is_refused() {
    let (from, to) = (Store::sqlite(), Store::sqlite());
    crate::moving::commands::make(&from);
    crate::moving::commands::make(&to);
    import(&to.url, "ndjson", &many(1)).succeeds();
    step(&from, &to, "follow").fails(1, "the target is not empty");
    // Nothing is left behind.
    import(&to.url, "ndjson", &many(1)).succeeds();
    import(&from.url, "ndjson", &many(1)).succeeds();
}
