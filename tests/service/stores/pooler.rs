//! Two services behind a pooler that gives a session of the server away after each transaction.

use std::{
    thread,
    time::{Duration, Instant},
};

use petstore_testing::{Pooling, needs, pooler_or_skip, postgres_or_skip};

use crate::{
    load::{Load, Outages, journal::Journal},
    support::{
        server::{Launch, Server},
        store::Store,
    },
};

/// Clients of each service. The pooler has four sessions for all of them.
const WRITERS: usize = 6;
const READERS: usize = 2;
/// How long they ask, and how many animals of each service are acknowledged at least.
const TIME: Duration = Duration::from_secs(3);
const ENOUGH: usize = 120;

/// Every answer is the one that was asked for, or the test fails: none is a 5xx, and none is another client's.
#[needs(postgres, pgbouncer)]
#[test]
fn two_services_behind_a_pooler_of_transactions_answer_all_that_their_clients_ask() {
    let test = "two services behind a pooler of transactions";
    let database = postgres_or_skip(test).unwrap();
    let pooler = pooler_or_skip(test, Pooling::Transaction, &database.url).unwrap();
    // Calls may wait for a session, on a slow machine for longer than in production.
    let limits = "call_timeout=25s&statement_timeout=20s&pool_timeout=20s";
    let store = Store::at(&format!("{}?{limits}", pooler.url(&database.url)));
    let stored = store.new_key("partner");
    let servers = [(); 2].map(|()| Launch::on(&store).start());
    let clients = servers.each_ref().map(Server::client);
    let (journal, start) = (Journal::new(), Instant::now());
    let mut loads = clients.each_ref().map(|client| {
        let load = Load::on(client, &journal, Outages::Never);
        load.writers(WRITERS, Some(&stored)).readers(READERS)
    });
    thread::sleep(TIME);
    for load in &mut loads {
        load.until("additions are there", start, ENOUGH, |entry| entry.added.is_some());
        load.stop();
    }
    for client in &clients {
        journal.is_settled_by(test, client);
    }
    for server in &servers {
        let log = server.log();
        assert!(!log.contains("request failed"), "{log}");
    }
}
