//! The process is killed under load.

use super::{crashes, write_until};
use crate::{
    load::journal::Journal,
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
const LOAD: usize = 150;
/// The number of times one store is killed. After each kill, the test reads all of its animals.
const KILLS_OF_A_STORE: usize = 3;

fn a_killed_server_has_kept_every_acknowledged_animal_once(kind: Kind) {
    for _ in 0..crashes(1, 67) {
        let store = Store::new(kind);
        let journal = Journal::new();
        for _ in 0..KILLS_OF_A_STORE {
            let mut server = Launch::on(&store).start();
            write_until(&server.client(), &journal, LOAD, || server.kill());
            let server = Launch::on(&store).start();
            journal.is_settled_by("a killed server", &server.client());
            server.stop();
        }
    }
}
