//! A move to PostgreSQL behind a pooler in transaction mode: after each transaction, another client may get the
//! session.

use petstore_testing::{Database, Pooler, Pooling, needs};

use super::commands::{hand_over, load, populate, serve};
use crate::support::{command::petstore, store::Store};

#[needs(postgres, pgbouncer, time)]
#[test]
fn a_handover_there_and_back_behind_a_pooler_of_transactions_refuses_nothing() {
    let database = Database::create().unwrap();
    let pooler = Pooler::start(Pooling::Transaction, &database.url).unwrap();
    let (from, to) = (Store::sqlite(), Store::at(&pooler.url(&database.url)));
    let all = populate(&from, 3_000);
    let server = serve(&from, &to);
    let mut load = load(&[server.client()], &all);
    for (from, to) in [(&from, &to), (&to, &from), (&from, &to)] {
        hand_over(from, to).succeeds();
        load[0].continues();
    }
    load[0].stop();
    all.is_kept_by(&server.client());
    petstore(&["check", "--store", &to.url]).finish().succeeds();
}
