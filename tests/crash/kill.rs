//! The process is killed under load.

use std::time::Instant;

use super::{crashes, write_until};
use crate::{
    load::journal::{Entry, Journal},
    support::{
        server::Launch,
        store::{Kind, Store, on_stores},
    },
};

on_stores! {
    lasting:
    a_killed_server_has_kept_every_acknowledged_animal_once,
}

/// The number of additions before a kill.
const LOAD: usize = 50;
/// The number of kills that must cut off a request, for one store: few, because the test reads all animals after each.
const KILLS_OF_A_STORE: usize = 3;
/// The largest number of kills for one store, until enough of them have cut off a request. On a busy machine, four of five
/// kills meet no request.
const MAX_KILLS: usize = 50;

fn a_killed_server_has_kept_every_acknowledged_animal_once(kind: Kind) {
    for _ in 0..crashes(1, 67) {
        let store = Store::new(kind);
        let journal = Journal::new();
        let mut hits = 0;
        for _ in 0..MAX_KILLS {
            if hits == KILLS_OF_A_STORE {
                break;
            }
            let mut server = Launch::on(&store).start();
            let (client, mut killed) = (server.client(), Instant::now());
            write_until(&client, &journal, LOAD, || {
                killed = Instant::now();
                server.kill();
            });
            let is_cut_off =
                |entry: &Entry| entry.status == 0 && entry.began < killed && killed < entry.ended;
            hits += usize::from(journal.with(|entries| entries.iter().any(is_cut_off)));
            let server = Launch::on(&store).start();
            journal.is_settled_by("a killed server", &server.client());
            server.stop();
        }
        assert_eq!(hits, KILLS_OF_A_STORE, "too few kills cut off a request");
    }
}
