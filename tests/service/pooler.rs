//! Two services behind a pooler that gives a session of the server away after each transaction.

use std::{
    thread,
    time::{Duration, Instant},
};

use petstore_testing::{Pooling, needs, pooler_or_skip, postgres_or_skip};

use crate::support::{
    additions::{Addition, everything_is_there},
    catalogue::{id_of, pets},
    client::Client,
    server::{Launch, Server},
    store::Store,
};

/// Clients, half of them of each service. The pooler has four sessions for all of them.
const CLIENTS: usize = 12;
/// How long they ask, and how often each of them at least.
const TIME: Duration = Duration::from_secs(3);
const ROUNDS: usize = 20;

/// Adds, repeats, reads and lists. Every answer is the one that was asked for, or the test fails: none
/// is a 5xx, and none is another client's.
fn asks(number: usize, client: &Client, stored: &str) -> Vec<Addition> {
    let start = Instant::now();
    let mut additions = Vec::new();
    while additions.len() < ROUNDS || start.elapsed() < TIME {
        let n = additions.len();
        let mut addition = Addition::new(&format!("c{number} n{n}"), n, n.is_multiple_of(2));
        addition.api_key = n.is_multiple_of(3).then(|| stored.to_owned());
        let added = addition.call(client).send().is(201).json();
        if addition.key.is_some() {
            assert_eq!(addition.call(client).send().is(201).json(), added);
        }
        let target = format!("/v1/pets/{}", id_of(&added));
        assert_eq!(client.get(&target).send().is(200).json(), added);
        let sold = pets(&client.get("/v1/pets?status=sold&limit=7").send().is(200));
        assert!(sold.iter().all(|pet| pet["status"] == "sold"), "{sold:?}");
        addition.acknowledged = Some(added);
        additions.push(addition);
    }
    additions
}

#[needs(postgres, pgbouncer)]
#[test]
fn two_services_behind_a_pooler_of_transactions_answer_all_that_their_clients_ask() {
    let test = "two services behind a pooler of transactions";
    let Some(database) = postgres_or_skip(test) else { return };
    let Some(pooler) = pooler_or_skip(test, Pooling::Transaction, &database.url) else { return };
    // Calls may wait for a session, on a slow machine for longer than in production.
    let limits = "call_timeout=25s&statement_timeout=20s&pool_timeout=20s";
    let store = Store::at(&format!("{}?{limits}", pooler.url(&database.url)));
    let stored = store.new_key("partner");
    let servers = [(); 2].map(|()| Launch::on(&store).start());
    let clients = servers.each_ref().map(Server::client);
    let additions: Vec<Addition> = thread::scope(|scope| {
        let ask = |number| asks(number, &clients[number % 2], &stored);
        let threads: Vec<_> = (0..CLIENTS).map(|n| scope.spawn(move || ask(n))).collect();
        threads.into_iter().flat_map(|thread| thread.join().unwrap()).collect()
    });
    for client in &clients {
        everything_is_there(client, &additions);
    }
    for server in &servers {
        let log = server.log();
        assert!(!log.contains("request failed"), "{log}");
    }
}
