//! The commands `store copy`, `store verify`, `store move` and `store release`.

mod handover;

use std::sync::Arc;

use petstore_domain::{Archive, Clock as _, StoreCounts};
use petstore_transfer::{Copied, TransferError, Verified};

use crate::{
    cli::{BothStores, StoreCommand},
    clock::SystemClock,
    console::{Console, Output},
    driver::OpenMode,
    failure::Failure,
    progress::Progress,
    signals::Signals,
    store::{refuse_same, with_archive},
};

/// Runs the command on the stores that it names.
pub(crate) async fn run(command: StoreCommand) -> Result<(), Failure> {
    match command {
        StoreCommand::Copy(stores) => transfer(Work::Copy, stores).await,
        StoreCommand::Verify(stores) => transfer(Work::Verify, stores).await,
        StoreCommand::Move(args) => handover::run(args).await,
        StoreCommand::Release(args) => handover::run_release(args).await,
    }
}

/// What is done with two stores as a whole.
#[derive(Clone, Copy)]
enum Work {
    Copy,
    Verify,
}

async fn transfer(work: Work, BothStores { from, to }: BothStores) -> Result<(), Failure> {
    let signals = Signals::take_over()?;
    refuse_same(&*from.0, &*to.0).await?;
    let target_mode = match work {
        Work::Copy => OpenMode::Create,
        Work::Verify => OpenMode::ReadOnly,
    };
    with_archive(&*from.0, OpenMode::ReadOnly, async |source| {
        with_archive(&*to.0, target_mode, async |target| match work {
            Work::Copy => copy((source, target), &signals, &mut Console).await,
            Work::Verify => verify((source, target), &signals, &mut Console).await,
        })
        .await
    })
    .await
}

type Pair = (Arc<dyn Archive>, Arc<dyn Archive>);

async fn copy((from, to): Pair, signals: &Signals, out: &mut impl Output) -> Result<(), Failure> {
    let mut progress = Progress::new();
    let mut watch = |state| progress.watch(state, signals);
    let done = petstore_transfer::copy(&*from, &*to, SystemClock.now(), &mut watch).await;
    drop(progress);
    let Copied { found, pets, keys, idempotency_records } = done.map_err(failure(
        "stopped; what was copied stays, and the same command goes on from there",
    ))?;
    let answer = format!(
        "copied {pets} animals ({found} were there before), {keys} API keys and {idempotency_records} \
         idempotency records\n"
    );
    out.print(&answer)
}

async fn verify((from, to): Pair, signals: &Signals, out: &mut impl Output) -> Result<(), Failure> {
    let mut progress = Progress::new();
    let mut watch = |state| progress.watch(state, signals);
    let done = petstore_transfer::verify(&*from, &*to, SystemClock.now(), &mut watch).await;
    drop(progress);
    let Verified { counts, ranges } =
        done.map_err(failure("stopped before everything was compared"))?;
    let StoreCounts { pets, keys, idempotency_records } = counts;
    let mut lines: Vec<_> = ranges.iter().map(ToString::to_string).collect();
    lines.push(format!(
        "the stores are equal: {pets} animals, {keys} API keys and {idempotency_records} idempotency records\n"
    ));
    let answer = lines.join("\n");
    out.print(&answer)
}

fn failure(canceled: &'static str) -> impl Fn(TransferError) -> Failure {
    move |error| match error {
        TransferError::Canceled => Failure::runtime(canceled),
        TransferError::From(_)
        | TransferError::To(_)
        | TransferError::OtherData(_)
        | TransferError::Different { .. }
        | TransferError::ConcurrentWrite { .. } => Failure::runtime(error),
    }
}
