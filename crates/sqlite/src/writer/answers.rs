//! What the callers of a group are told.

use std::sync::Arc;

use tokio::runtime::Handle;

use super::job::Job;

/// The answers of a group whose transaction has ended. They are given when this is dropped, so they
/// are given in any case.
pub(super) struct Answers {
    group: Vec<Box<dyn Job>>,
    outcome: Result<(), Arc<rusqlite::Error>>,
}

impl Answers {
    pub(super) fn of(group: Vec<Box<dyn Job>>, outcome: Result<(), Arc<rusqlite::Error>>) -> Self {
        Self { group, outcome }
    }

    /// Answers on a thread of `runtime`, where waking the tasks that wait is cheap, and the writer
    /// goes on. One answer alone is not worth the way.
    pub(super) fn give(self, runtime: Option<&Handle>) {
        if let (Some(runtime), [_, _, ..]) = (runtime, &self.group[..]) {
            runtime.spawn(async move { drop(self) });
        }
    }
}

impl Drop for Answers {
    fn drop(&mut self) {
        for job in self.group.drain(..) {
            job.answer(self.outcome.clone());
        }
    }
}
