//! The command `conformance`: every promise of the storage ports, on throw-away stores of one kind.

#[cfg(test)]
mod tests;

use std::{io, sync::Arc};

use petstore_conformance::{Harness, Promise, Summary, Verdict, run_all};

use crate::{
    cli::ConformanceArgs,
    console::{Console, Output, stdout_failed},
    driver::ThrowAwayStores,
    failure::{Failure, one_line_of},
    signals::Signals,
};

/// Runs the command.
pub(crate) async fn run(ConformanceArgs { store }: ConformanceArgs) -> Result<(), Failure> {
    let signals = Signals::take_over()?;
    let stores = store.0.throw_away().map_err(Failure::runtime)?;
    check_until(signals.stop(), stores, &mut Console).await
}

/// Checks every promise unless `stop` comes first, and removes the stores in any case.
async fn check_until(
    stop: impl Future<Output = ()>,
    ThrowAwayStores { harness, clean_up }: ThrowAwayStores,
    out: &mut (impl Output + Send),
) -> Result<(), Failure> {
    let done = tokio::select! {
        biased;
        () = stop => Err(Failure::runtime("stopped before every promise was checked")),
        done = check(&harness, out) => done,
    };
    done.and(clean_up.await.map_err(Failure::runtime))
}

/// Says of each promise what became of it, and at the end of all.
async fn check(harness: &Arc<dyn Harness>, out: &mut (impl Output + Send)) -> Result<(), Failure> {
    let mut said = Ok(());
    let mut report = |promise: &Promise, verdict: &Verdict| {
        let line = format!("{}: {}\n", promise.name, one_line_of(&verdict.to_string()));
        if said.is_ok() {
            said = out.answer(&line);
        }
    };
    let summary = run_all(harness, &mut report).await;
    conclude(&summary, said, out)
}

fn conclude(summary: &Summary, said: io::Result<()>, out: &mut impl Output) -> Result<(), Failure> {
    said.and_then(|()| out.answer(&format!("{summary}\n")))
        .map_err(|error| stdout_failed(&error))?;
    if summary.holds() {
        Ok(())
    } else if summary.broken > 0 {
        Err(Failure::runtime("the store breaks the contract"))
    } else {
        Err(Failure::runtime("no promise was checked"))
    }
}
