//! The commands of a handover, and services that take part in it.

use std::process::Child;

use crate::support::{
    command::{Finished, Run, petstore},
    server::{Launch, Server},
    store::Store,
};

fn command(from: &Store, to: &Store, more: &[&str]) -> Run {
    let words = ["store", "move", "--from", &from.url, "--to", &to.url];
    petstore(&[&words[..], more].concat())
}

/// Hands the store over.
#[track_caller]
pub(crate) fn hand_over(from: &Store, to: &Store) -> Finished {
    command(from, to, &[]).finish()
}

/// Gives it up.
#[track_caller]
pub(crate) fn cancel(from: &Store, to: &Store) -> Finished {
    command(from, to, &["--cancel"]).finish()
}

/// Begins to hand the store over.
pub(crate) fn spawn(from: &Store, to: &Store) -> Running {
    Running(command(from, to, &[]).spawn())
}

/// A service that takes part.
pub(crate) fn serve(from: &Store, to: &Store) -> Server {
    Launch::on(from).flag("--next-store", &to.url).start()
}

/// How long writes waited, in milliseconds, as the command says.
pub(crate) fn pause(said: &str) -> u64 {
    let words = said.split("writes waited ").nth(1).and_then(|rest| rest.split(' ').next());
    words.and_then(|number| number.parse().ok()).unwrap_or_else(|| panic!("{said}"))
}

/// A command that is killed when it is dropped.
pub(crate) struct Running(pub(crate) Child);

impl Drop for Running {
    fn drop(&mut self) {
        // It may have ended already.
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}
