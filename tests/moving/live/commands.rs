//! The commands of a live move.

use std::process::Child;

use serde_json::Value;

use crate::support::{
    command::{Finished, Run, petstore},
    store::Store,
    wait,
};

fn command(from: &Store, to: &Store, more: &[&str]) -> Run {
    let words = ["store", "move", "--from", &from.url, "--to", &to.url];
    petstore(&[&words[..], more].concat())
}

/// Runs one step to its end.
#[track_caller]
pub(crate) fn step(from: &Store, to: &Store, name: &str) -> Finished {
    command(from, to, &["--step", name]).finish()
}

/// Begins or resumes a move, and follows until it is ended.
pub(crate) fn follow(from: &Store, to: &Store) -> Running {
    spawn(from, to, "follow")
}

/// Begins one step.
pub(crate) fn spawn(from: &Store, to: &Store, name: &str) -> Running {
    Running(command(from, to, &["--step", name]).spawn())
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

/// Where the move stands.
#[track_caller]
pub(crate) fn status(from: &Store, to: &Store) -> Value {
    let said = command(from, to, &["--status", "--output", "json"]).finish().succeeds();
    serde_json::from_str(&said).unwrap()
}

/// Waits until the standby is nearly where the other store is.
#[track_caller]
pub(crate) fn until_caught_up(from: &Store, to: &Store) {
    wait::within(wait::LIMIT * 5, "the standby has caught up", || {
        let finished = command(from, to, &["--status", "--output", "json"]).finish();
        // The target may not be there yet.
        let Ok(status) = serde_json::from_str::<Value>(&finished.stdout) else { return false };
        let [here, there] = ["from", "to"].map(|side| status[side]["highestId"].as_i64().unwrap());
        status["step"] == "following" && here.min(there) > 0 && status["lag"].as_i64() < Some(500)
    });
}
