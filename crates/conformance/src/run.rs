//! Running the promises.

use std::{
    io::Write as _,
    mem,
    sync::{Arc, PoisonError},
};

use tokio::{runtime, task::JoinError, time::timeout};

use crate::{
    failure::{Failure, PromiseResult},
    fixture::{Fixture, Scratches},
    harness::{Capability, Harness},
    outcome::Outcome,
    promises::{PROMISES, Promise},
};

/// Checks one promise. A panic of the adapter, and a call without end, break it.
///
/// Runs on a tokio runtime with timers; adapters that block want one with several threads.
pub async fn run(harness: &Arc<dyn Harness>, promise: &Promise) -> Outcome {
    if let Some((unsupported, reason)) = unsupported(&**harness, promise) {
        return Outcome::NotChecked { unsupported, reason };
    }
    let limit = harness.time_limit();
    let scratches = Scratches::default();
    let (fixture, check) =
        (Fixture::new(Arc::clone(harness), Arc::clone(&scratches)), promise.check);
    let mut task = tokio::spawn(async move { check(fixture.await?).await });
    let end = match timeout(limit, &mut task).await {
        Ok(Ok(end)) => end,
        Ok(Err(error)) => Err(panicked(&error)),
        Err(_) => {
            task.abort();
            Err(Failure::new(format!("it did not end within {limit:?}")))
        }
    };
    let removed = timeout(limit, remove(&scratches)).await;
    let removed = removed
        .unwrap_or_else(|_| Err(Failure::new(format!("it is not removed within {limit:?}"))));
    match end.and(removed) {
        Ok(()) => Outcome::Kept,
        Err(failure) => Outcome::Broken(failure),
    }
}

/// Removes the throw-away stores of a promise that has ended.
async fn remove(scratches: &Scratches) -> PromiseResult {
    let all = mem::take(&mut *scratches.lock().unwrap_or_else(PoisonError::into_inner));
    for scratch in all {
        let failed = |problem| Failure::new(format!("the harness cannot remove it: {problem}"));
        scratch.remove().await.map_err(failed)?;
    }
    Ok(())
}

/// Returns the first capability that the promise needs and the adapter does not have, and why.
fn unsupported(harness: &dyn Harness, promise: &Promise) -> Option<(Capability, &'static str)> {
    promise.needs.iter().find_map(|&need| Some((need, harness.unsupported(need)?)))
}

fn panicked(error: &JoinError) -> Failure {
    Failure::new(format!("it panicked: {error}"))
}

/// Checks the promise called `name` on a runtime of its own: the body of one test.
///
/// # Errors
/// The promise is broken, or there is none of this name. One that is not checked says so on stderr.
pub fn check(harness: impl Harness, name: &str) -> PromiseResult {
    let unknown = || Failure::new(format!("there is no promise '{name}'"));
    let promise = PROMISES.iter().find(|promise| promise.name == name).ok_or_else(unknown)?;
    let harness: Arc<dyn Harness> = Arc::new(harness);
    let runtime = runtime::Builder::new_multi_thread().worker_threads(4).enable_all().build()?;
    let outcome = runtime.block_on(run(&harness, promise));
    // A task that an adapter left running must not keep the test from ending.
    runtime.shutdown_background();
    match outcome {
        Outcome::Kept => Ok(()),
        Outcome::Broken(failure) => Err(failure.context(name)),
        Outcome::NotChecked { .. } => print(&format!("{name}: {outcome}")),
    }
}

/// Prints how many promises the tests of `harness` check, how many not, and why: the body of one more
/// test. Without it, a promise that is not checked would read as a test that passed.
///
/// # Errors
/// Nothing can be written to stderr.
pub fn print_coverage(harness: &impl Harness) -> PromiseResult {
    let missing = PROMISES.iter().filter_map(|promise| unsupported(harness, promise));
    let mut missing: Vec<_> = missing.collect();
    let (total, unchecked) = (PROMISES.len(), missing.len());
    missing.sort_by_key(|(capability, _)| format!("{capability:?}"));
    missing.dedup();
    let reasons = missing.into_iter();
    let reasons = reasons.map(|(need, reason)| format!("; {need:?} is unsupported ({reason})"));
    let reasons: String = reasons.collect();
    print(&format!("{total} promises: {} checked, {unchecked} not{reasons}", total - unchecked))
}

/// Writes to stderr without the macro, whose output the test runner hides.
fn print(line: &str) -> PromiseResult {
    Ok(writeln!(std::io::stderr(), "{line}")?)
}
