//! Two services behind a pooler that hands a session over after each transaction.

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

/// The clients of each service. The pooler has four sessions for all of them.
const WRITERS: usize = 6;
const READERS: usize = 2;
/// The duration of the test, and the least number of acknowledged animals of each service.
const TIME: Duration = Duration::from_secs(3);
const ENOUGH: usize = 120;

/// Each client gets the answer to its own request. No answer is a 5xx.
#[needs(postgres, pgbouncer)]
#[test]
fn two_services_behind_a_transaction_pooler_answer_every_request() {
    let test = "two services behind a pooler of transactions";
    let database = postgres_or_skip(test).unwrap();
    let pooler = pooler_or_skip(test, Pooling::Transaction, &database.url).unwrap();
    // On a slow machine, a call may wait longer for a session than in production.
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
