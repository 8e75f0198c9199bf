//! Checks promises. Each check has an [`Outcome`].

use std::{
    collections::BTreeSet,
    fmt,
    io::Write as _,
    mem,
    sync::{Arc, PoisonError},
};

use tokio::runtime;

use crate::{
    calls::in_time,
    failure::{Failure, PromiseResult, tried},
    fixture::{Fixture, Scratches},
    harness::{Capability, Harness},
    promises::{PROMISES, Promise},
};

/// The outcome of checking one promise.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Outcome {
    /// The promise was kept.
    Kept,
    /// The promise was broken.
    Broken(Failure),
    /// The promise was not checked.
    NotChecked {
        /// The capability that the promise needs.
        unsupported: Capability,
        /// The reason why the adapter, or the harness, does not support the capability.
        reason: &'static str,
    },
}

impl fmt::Display for Outcome {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Kept => f.write_str("kept"),
            Self::Broken(failure) => write!(f, "broken: {failure}"),
            Self::NotChecked { unsupported, reason } => {
                write!(f, "not checked: it needs {unsupported:?}, and {reason}")
            }
        }
    }
}

/// Checks one promise. A panic or a hang of the adapter breaks the promise.
///
/// Needs a tokio runtime with timers, and with several threads for adapters that block.
pub async fn run(harness: &Arc<dyn Harness>, promise: &Promise) -> Outcome {
    if let Some((unsupported, reason)) = unsupported(&**harness, promise) {
        return Outcome::NotChecked { unsupported, reason };
    }
    let limit = harness.time_limit();
    let scratches = Scratches::default();
    let fixture = Fixture::unopened(Arc::clone(harness), Arc::clone(&scratches));
    let check = promise.check;
    let mut task = tokio::spawn(async move { check(fixture.await?.opened(false).await?).await });
    let end = in_time("the promise", limit, &mut task).await;
    let end = end.and_then(|end| tried("the promise panicked", end).flatten());
    // Stops a check that took too long. The call has no effect on a check that has ended.
    task.abort();
    let removed = in_time("removing the store", limit, remove(&scratches)).await.flatten();
    end.and(removed).map_or_else(Outcome::Broken, |()| Outcome::Kept)
}

/// Removes the throw-away stores of a promise that has ended.
async fn remove(scratches: &Scratches) -> PromiseResult {
    let all = mem::take(&mut *scratches.lock().unwrap_or_else(PoisonError::into_inner));
    for scratch in all {
        tried("the harness cannot remove the store", scratch.remove().await)?;
    }
    Ok(())
}

/// Returns the first needed capability that the adapter does not support, and the reason.
fn unsupported(harness: &dyn Harness, promise: &Promise) -> Option<(Capability, &'static str)> {
    promise.needs.iter().find_map(|&need| Some((need, harness.unsupported(need)?)))
}

/// Checks the promise `name` on a new runtime. This function is the body of each test.
///
/// # Errors
/// The promise is broken, or `name` is unknown. For a promise that is not checked, the function prints a line on stderr
/// and returns `Ok`.
pub fn check(harness: impl Harness, name: &str) -> PromiseResult {
    let unknown = || Failure::new(format!("there is no promise '{name}'"));
    let promise = PROMISES.iter().find(|promise| promise.name == name).ok_or_else(unknown)?;
    let harness: Arc<dyn Harness> = Arc::new(harness);
    let runtime = runtime::Builder::new_multi_thread().worker_threads(4).enable_all().build()?;
    let outcome = runtime.block_on(run(&harness, promise));
    // A task that the adapter left running must not delay the end of the test.
    runtime.shutdown_background();
    match outcome {
        Outcome::Kept => Ok(()),
        Outcome::Broken(failure) => Err(failure.context(name)),
        Outcome::NotChecked { .. } => print(&format!("{name}: {outcome}")),
    }
}

/// Prints the number of checked promises, the number of unchecked promises, and the reasons. This function is the body
/// of one test. Without that test, an unchecked promise would look like a kept one.
///
/// # Errors
/// stderr cannot be written.
pub fn print_coverage(harness: &impl Harness) -> PromiseResult {
    let missing = PROMISES.iter().filter_map(|promise| unsupported(harness, promise));
    let reasons = missing.map(|(need, reason)| format!("; {need:?} is unsupported ({reason})"));
    let reasons: Vec<_> = reasons.collect();
    let (total, unchecked) = (PROMISES.len(), reasons.len());
    let reasons: String = reasons.into_iter().collect::<BTreeSet<_>>().into_iter().collect();
    print(&format!("{total} promises: {} checked, {unchecked} not{reasons}", total - unchecked))
}

/// Writes to stderr directly, because the test runner hides the output of `eprintln!`.
fn print(line: &str) -> PromiseResult {
    Ok(writeln!(std::io::stderr(), "{line}")?)
}
