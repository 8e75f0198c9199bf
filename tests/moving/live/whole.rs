//! Whole handovers, there and back.

use petstore_testing::needs;

use super::{
    animals,
    commands::{hand_over, load, pause, populate, serve},
};
use crate::{
    load::Load,
    moving::{
        animals::many,
        commands::{import, make, verify},
    },
    support::{
        client::Client,
        command::petstore,
        server::{Launch, Server},
        store::Store,
        wait,
    },
};

/// Additions whose keys are sent again after a handover.
const REPEATED: usize = 50;

/// Checks that every command refuses a store that was handed over, and says where to.
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
    ] {
        petstore(words).finish().fails(1, &expected);
    }
    if from.url.contains("sqlite:") {
        petstore(&["backup", "--to", file, "--store", &from.url]).finish().fails(1, &expected);
    }
    Launch::on(from).finish().fails(78, &expected);
}

/// Hands over there and back, while `services` of them take requests.
fn moves(from: &Store, to: &Store, services: usize) {
    let all = populate(from, animals());
    let key = from.new_key("before");
    let servers: Vec<Server> = (0..services).map(|_| serve(from, to)).collect();
    let clients: Vec<Client> = servers.iter().map(Server::client).collect();
    let mut loads = load(&clients, &all);
    loads.iter_mut().for_each(Load::goes_on);
    let mut pauses = Vec::new();
    for (from, to) in [(from, to), (to, from)] {
        pauses.push(pause(&hand_over(from, to).succeeds()));
        loads.iter_mut().for_each(Load::goes_on);
        refuses(from, to);
        for client in &clients {
            client.get("/v1/pets?limit=1").key(&key).send().is(200);
        }
        assert_eq!(pause(&hand_over(from, to).succeeds()), 0, "it is run again");
    }
    // One of them may have met a machine that had other work.
    pauses.sort_unstable();
    assert!(pauses[0] < 1000 && pauses[1] < 3000, "writes waited {pauses:?} ms");
    from.keys(&["revoke", "before"]).succeeds();
    wait::until("the revoked key is refused", || {
        clients.iter().all(|client| client.get("/v1/pets?limit=1").key(&key).send().status == 401)
    });
    loads.iter_mut().for_each(Load::stop);
    for client in &clients {
        all.is_kept_by(client);
    }
    hand_over(from, to).succeeds();
    all.repeat(&clients[0], REPEATED);
    drop(servers);
    verify(&from.url, &to.url);

    // With either order of the stores, and with the new one alone.
    for server in [serve(from, to), serve(to, from), Launch::on(to).start()] {
        all.repeat(&server.client(), REPEATED);
        all.is_kept_by(&server.client());
        server.client().get("/v1/pets").key(&key).send().is(401);
    }
    petstore(&["check", "--store", &to.url]).finish().succeeds();
}

#[needs(postgres, time)]
#[test]
fn from_sqlite_to_postgres() {
    let Some(to) = Store::postgres() else { return };
    moves(&Store::sqlite(), &to, 2);
}

#[needs(etcd, time)]
#[test]
fn from_sqlite_to_etcd() {
    let Some(to) = Store::etcd() else { return };
    moves(&Store::sqlite(), &to, 2);
}

#[needs(etcd, postgres, time)]
#[test]
fn from_postgres_to_etcd_with_three_instances() {
    let Some((from, to)) = Store::postgres().zip(Store::etcd()) else { return };
    moves(&from, &to, 3);
}

#[needs(postgres, time)]
#[test]
fn from_postgres_to_sqlite() {
    let Some(from) = Store::postgres() else { return };
    moves(&from, &Store::sqlite(), 2);
}

#[needs(postgres, time)]
#[test]
fn from_postgres_to_postgres_with_three_instances() {
    let Some((from, to)) = Store::postgres().zip(Store::postgres()) else { return };
    moves(&from, &to, 3);
}

#[test]
fn from_sqlite_to_sqlite() {
    moves(&Store::sqlite(), &Store::sqlite(), 1);
}

#[test]
fn a_target_that_holds_something_is_refused() {
    let (from, to) = (Store::sqlite(), Store::sqlite());
    make(&from);
    make(&to);
    import(&to.url, "ndjson", &many(1)).succeeds();
    hand_over(&from, &to).fails(1, "is not empty");
    // Nothing is left behind.
    import(&to.url, "ndjson", &many(1)).succeeds();
    import(&from.url, "ndjson", &many(1)).succeeds();
}
