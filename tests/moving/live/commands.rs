//! The command `store move`, and services that take part in a move.

use std::{sync::Arc, time::Duration};

use crate::load::{Load, Outages, journal::Journal};
use crate::moving::{animals::many, commands::feed};
use crate::support::{
    catalogue::everything,
    client::Client,
    command::{Finished, Run, Running, petstore},
    server::{Launch, Server},
    store::Store,
};

fn command(from: &Store, to: &Store, more: &[&str]) -> Run {
    let words = ["store", "move", "--from", &from.url, "--to", &to.url];
    petstore(&[&words[..], more].concat())
}

/// Moves the store.
#[track_caller]
pub(crate) fn hand_over(from: &Store, to: &Store) -> Finished {
    command(from, to, &["--yes"]).finish()
}

/// Cancels the move.
#[track_caller]
pub(crate) fn cancel(from: &Store, to: &Store) -> Finished {
    command(from, to, &["--cancel"]).finish()
}

/// Starts a move.
pub(crate) fn spawn(from: &Store, to: &Store) -> Running {
    command(from, to, &["--yes"]).spawn()
}

/// Starts a service that takes part in the move.
pub(crate) fn serve(from: &Store, to: &Store) -> Server {
    Launch::on(from).flag("--next-store", &to.url).start()
}

/// Returns how long writes waited, in milliseconds, from the output of the command.
pub(crate) fn pause(said: &str) -> u64 {
    let words = said.split("writes waited ").nth(1).and_then(|rest| rest.split(' ').next());
    words.and_then(|number| number.parse().ok()).unwrap_or_else(|| panic!("no pause: {said}"))
}

/// Makes a store with `count` animals, and records them in the journal as acknowledged.
pub(crate) fn populate(store: &Store, count: usize) -> Arc<Journal> {
    feed(&["import", "--create", "--store", &store.url], &many(count)).succeeds();
    let (server, journal) = (Launch::on(store).start(), Journal::new());
    journal.note_stored(everything(&server.client()));
    journal
}

/// Starts at least four writers on these services in all, and two readers on each. No service may refuse a request.
pub(crate) fn load(clients: &[Client], journal: &Arc<Journal>) -> Vec<Load> {
    let writers = 4_usize.div_ceil(clients.len());
    let start = |client| {
        let load = Load::on(client, journal, Outages::Never).writers(writers, None).readers(1);
        load.tail(&[Arc::clone(journal)], Duration::ZERO)
    };
    clients.iter().map(start).collect()
}
