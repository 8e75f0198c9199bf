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

/// Waits until the target holds animals.
#[track_caller]
pub(crate) fn until_begun(from: &Store, to: &Store) {
    until(from, to, "the backfill has begun", |status| id(status, "to") > 0);
}

/// Waits until the standby is nearly where the other store is.
#[track_caller]
pub(crate) fn until_caught_up(from: &Store, to: &Store) {
    until(from, to, "the standby has caught up", |status| {
        let holds = id(status, "from").min(id(status, "to")) > 0;
        status["step"] == "following" && holds && status["lag"].as_i64() < Some(500)
    });
}

fn id(status: &Value, side: &str) -> i64 {
    status[side]["highestId"].as_i64().unwrap()
}

#[track_caller]
fn until(from: &Store, to: &Store, what: &str, is_so: impl Fn(&Value) -> bool) {
    wait::within(wait::LIMIT * 5, what, || {
        let finished = command(from, to, &["--status", "--output", "json"]).finish();
        // The target may not be there yet.
        serde_json::from_str(&finished.stdout).is_ok_and(|status| is_so(&status))
    });
}
