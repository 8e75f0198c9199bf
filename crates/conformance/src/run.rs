//! Running the promises.

use std::{fmt, io::Write as _, sync::Arc};

use tokio::{runtime, task::JoinError, time::timeout};

use crate::{Broken, Capability, Harness, PROMISES, Promise, broken::Kept};

/// What became of one promise.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Verdict {
    /// It was kept.
    Kept(Kept),
    /// It was broken, and how.
    Broken(Broken),
    /// It was not checked.
    NotChecked {
        /// What that would have needed.
        lacking: Capability,
        /// Why the adapter, or the harness, lacks it.
        reason: &'static str,
    },
}

impl fmt::Display for Verdict {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Kept(Kept { note: None }) => f.write_str("kept"),
            Self::Kept(Kept { note: Some(note) }) => write!(f, "kept ({note})"),
            Self::Broken(broken) => write!(f, "broken: {broken}"),
            Self::NotChecked { lacking, reason } => {
                write!(f, "not checked: it needs {lacking}, and {reason}")
            }
        }
    }
}

/// How many promises ended how.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Summary {
    /// Checked and kept.
    pub kept: usize,
    /// Checked and broken.
    pub broken: usize,
    /// Not checked.
    pub not_checked: usize,
}

impl Summary {
    /// Whether the adapter keeps the contract, as far as it was checked. Where nothing was, it does
    /// not.
    #[must_use]
    pub fn holds(&self) -> bool {
        self.broken == 0 && self.kept > 0
    }

    fn count(&mut self, verdict: &Verdict) {
        match verdict {
            Verdict::Kept(_) => self.kept += 1,
            Verdict::Broken(_) => self.broken += 1,
            Verdict::NotChecked { .. } => self.not_checked += 1,
        }
    }
}

impl fmt::Display for Summary {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { kept, broken, not_checked } = self;
        write!(f, "{kept} kept, {broken} broken, {not_checked} not checked")
    }
}

/// Checks every promise, one after the other, and reports each as it ends.
///
/// Runs on a tokio runtime with timers; adapters that block want one with several threads.
pub async fn run_all(
    harness: &Arc<dyn Harness>,
    report: &mut (dyn FnMut(&Promise, &Verdict) + Send),
) -> Summary {
    let mut summary = Summary::default();
    for promise in PROMISES {
        let verdict = run(harness, promise).await;
        summary.count(&verdict);
        report(promise, &verdict);
    }
    summary
}

/// Checks one promise. A panic of the adapter, and a call without end, break it.
pub async fn run(harness: &Arc<dyn Harness>, promise: &Promise) -> Verdict {
    for &lacking in promise.needs {
        if let Some(reason) = harness.lacks(lacking) {
            return Verdict::NotChecked { lacking, reason };
        }
    }
    let limit = harness.time_limit();
    let (harness, check) = (Arc::clone(harness), promise.check);
    let mut task = tokio::spawn(async move { check(&*harness).await });
    match timeout(limit, &mut task).await {
        Ok(Ok(Ok(kept))) => Verdict::Kept(kept),
        Ok(Ok(Err(broken))) => Verdict::Broken(broken),
        Ok(Err(error)) => Verdict::Broken(panicked(&error)),
        Err(_) => {
            task.abort();
            Verdict::Broken(Broken::new(format!("it did not end within {limit:?}")))
        }
    }
}

fn panicked(error: &JoinError) -> Broken {
    Broken::new(format!("it panicked: {error}"))
}

/// Checks the promise called `name` on a runtime of its own: the body of one test.
///
/// # Errors
/// The promise is broken, or there is none of this name. One that is not checked says so on stderr.
pub fn check(harness: impl Harness, name: &str) -> Result<(), Broken> {
    let unknown = || Broken::new(format!("there is no promise '{name}'"));
    let promise = PROMISES.iter().find(|promise| promise.name == name).ok_or_else(unknown)?;
    let harness: Arc<dyn Harness> = Arc::new(harness);
    let runtime = runtime::Builder::new_multi_thread().worker_threads(4).enable_all().build()?;
    let verdict = runtime.block_on(run(&harness, promise));
    // Whatever an adapter left running must not keep the test from ending.
    runtime.shutdown_background();
    match verdict {
        Verdict::Kept(_) => Ok(()),
        Verdict::Broken(broken) => Err(broken.when(name)),
        Verdict::NotChecked { .. } => {
            // Not by the macro: the test harness would hide what it prints.
            writeln!(std::io::stderr(), "{name}: {verdict}")?;
            Ok(())
        }
    }
}
