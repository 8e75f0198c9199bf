//! A move to PostgreSQL behind a pooler that gives a session of the server away after each transaction.

use petstore_testing::{Pooling, needs, pooler_or_skip, postgres_or_skip};

use super::{
    commands::{follow, step, until_caught_up},
    load::Load,
    populated::populate,
};
use crate::support::{
    additions::everything_is_there, command::petstore, server::Launch, store::Store,
};

#[needs(postgres, pgbouncer)]
#[test]
fn a_move_there_and_back_behind_a_pooler_of_transactions_refuses_nothing() {
    let test = "a move behind a pooler of transactions";
    let Some(database) = postgres_or_skip(test) else { return };
    let Some(pooler) = pooler_or_skip(test, Pooling::Transaction, &database.url) else { return };
    let (from, to) = (Store::sqlite(), Store::at(&pooler.url(&database.url)));
    let mut additions = populate(&from, 3_000);
    let server = Launch::on(&from).start();
    let load = Load::start("p", &[server.client()]);
    let _follower = follow(&from, &to);
    until_caught_up(&from, &to);
    for name in ["flip", "back", "flip", "finish"] {
        step(&from, &to, name).succeeds();
        load.goes_on();
    }
    additions.extend(load.end());
    everything_is_there(&server.client(), &additions);
    petstore(&["check", "--store", &to.url]).finish().succeeds();
}
