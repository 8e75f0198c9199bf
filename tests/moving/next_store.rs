//! The log line of a service whose `--next-store` does not exist yet.

use super::{
    animals::many,
    commands::feed,
    live::commands::{hand_over, serve},
};
use crate::support::{
    store::{Kind, Store, on_stores},
    wait,
};

/// The log must not suggest a command that fills the store: a move needs an empty target.
fn a_next_store_that_is_not_there_is_made_by_a_move(kind: Kind) {
    let (from, to) = (Store::sqlite(), Store::new(kind));
    feed(&["import", "--create", "--store", &from.url], &many(3)).succeeds();
    let server = serve(&from, &to);
    let waits = "the next store cannot be opened yet";
    wait::until("the log tells of the next store", || server.log().contains(waits));
    let log = server.log();
    let line = log.lines().find(|line| line.contains(waits)).unwrap();
    assert!(line.contains("'petstore store move' makes it"), "{line}");
    for spoils in ["petstore serve", "keys create", "import"] {
        assert!(!line.contains(spoils), "{line}");
    }
    assert!(!to.is_made());
    hand_over(&from, &to).succeeds();
    server.client().get("/v1/pets").send().is(200);
    server.stop();
}

on_stores!(lasting: a_next_store_that_is_not_there_is_made_by_a_move);
