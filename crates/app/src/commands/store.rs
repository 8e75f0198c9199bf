//! The commands `store copy`, `store verify`, `store move` and `store release`.

use std::{ops::ControlFlow, sync::Arc, time::Duration};

use clap::{Args, Subcommand};
use petstore_domain::{Archive, Clock as _, StoreCounts, StoreId};
use petstore_transfer::{
    Copied, Mover, OnProgress, TransferError, TransferProgress, TransferStep, Verified, cancel,
    release,
};

use crate::{
    commands::keys::random,
    stores::{
        StoreArg,
        driver::{OpenMode, StoreLocation},
        opening::{with_archive, with_store},
    },
    system::{
        clock::SystemClock,
        console::{Console, Output as _},
        failure::Failure,
        process::Signals,
        progress::Progress,
    },
};

/// What to do with a whole store.
#[derive(Debug, Subcommand)]
pub(crate) enum StoreCommand {
    /// Copy a store into an empty one, or go on with a copy that was cut off.
    ///
    /// Animals keep their identifiers; API keys and the idempotency records that still count are
    /// copied too. A target that holds anything else is refused.
    Copy(BothStores),
    /// Compare two stores and name the first difference.
    Verify(BothStores),
    /// Hand a store over to another one while services use it.
    ///
    /// Copies the animals, API keys and idempotency records, follows what is added meanwhile, and then lets the
    /// target take the store's place; writes wait for less than a second. Services must have been started with
    /// --next-store. A command that was stopped or killed is run again. docs/STORES.md explains it.
    Move(MoveArgs),
    /// Make a store of its own of one that was handed over, or that is being filled, such as a restored backup.
    Release(ReleaseArgs),
}

/// Two stores, of which one takes the place of the other.
#[derive(Debug, Args)]
pub(crate) struct MoveArgs {
    #[command(flatten)]
    stores: BothStores,
    /// Give it up, and let the source go on.
    #[arg(long)]
    cancel: bool,
}

/// A store that is not open.
#[derive(Debug, Args)]
pub(crate) struct ReleaseArgs {
    /// The store
    url: StoreArg,
    /// Do it although another store may hold more.
    #[arg(long)]
    force: bool,
}

/// Two stores.
#[derive(Debug, Args)]
pub(crate) struct BothStores {
    /// The store to read, which must exist
    #[arg(long)]
    from: StoreArg,
    /// The store to write or to compare with
    #[arg(long)]
    to: StoreArg,
}

impl BothStores {
    /// Returns where they are. Refuses one store under two URLs, or under one.
    async fn locations(&self) -> Result<(&dyn StoreLocation, &dyn StoreLocation), Failure> {
        let (from, to) = (&*self.from.location, &*self.to.location);
        let mut same = from.to_string() == to.to_string();
        if let (false, Some(identity)) = (same, from.identity().await) {
            same = to.identity().await == Some(identity);
        }
        let message = "--from and --to name the same store; name two";
        if same { Err(Failure::usage(message)) } else { Ok((from, to)) }
    }
}

/// Runs the command on the stores that it names.
pub(crate) async fn run(command: StoreCommand) -> Result<(), Failure> {
    let signals = Signals::take_over()?;
    let answer = match command {
        StoreCommand::Copy(stores) => {
            let canceled =
                "stopped; what was copied stays, and the same command goes on from there";
            transfer(stores, OpenMode::Create, copy, canceled, &signals).await
        }
        StoreCommand::Verify(stores) => {
            let canceled = "stopped before everything was compared";
            transfer(stores, OpenMode::ReadOnly, verify, canceled, &signals).await
        }
        StoreCommand::Move(args) => hand_over(args, &signals).await,
        StoreCommand::Release(args) => make_independent(args).await,
    };
    Console.print(&answer?)
}

/// Does `work` with two stores as a whole, of which the target is opened in a mode of its own. `canceled` is what a stop
/// leaves.
async fn transfer(
    stores: BothStores,
    target_mode: OpenMode,
    work: impl AsyncFnOnce(&dyn Archive, &dyn Archive, OnProgress<'_>) -> Result<String, TransferError>,
    canceled: &str,
    signals: &Signals,
) -> Result<String, Failure> {
    let (from, to) = stores.locations().await?;
    with_archive(from, OpenMode::ReadOnly, async |_, source| {
        with_archive(to, target_mode, async |_, target| {
            let done = work(source, target, &mut watch(signals)).await;
            done.map_err(|error| {
                let is_canceled = matches!(error, TransferError::Canceled);
                Failure::runtime(if is_canceled { canceled.to_owned() } else { error.to_string() })
            })
        })
        .await
    })
    .await
}

async fn copy(
    from: &dyn Archive,
    to: &dyn Archive,
    on_progress: OnProgress<'_>,
) -> Result<String, TransferError> {
    let done = petstore_transfer::copy(from, to, SystemClock.now(), on_progress).await?;
    let Copied { found, pets, keys, idempotency_records } = done;
    Ok(format!(
        "copied {pets} animals ({found} were there before), {keys} API keys and {idempotency_records} \
         idempotency records\n"
    ))
}

async fn verify(
    from: &dyn Archive,
    to: &dyn Archive,
    on_progress: OnProgress<'_>,
) -> Result<String, TransferError> {
    let done = petstore_transfer::verify(from, to, SystemClock.now(), on_progress).await?;
    let Verified { counts: StoreCounts { pets, keys, idempotency_records }, ranges } = done;
    let mut lines: Vec<_> = ranges.iter().map(ToString::to_string).collect();
    lines.push(format!(
        "the stores are equal: {pets} animals, {keys} API keys and {idempotency_records} idempotency records\n"
    ));
    Ok(lines.join("\n"))
}

/// Shows how far the work is, and cancels it when a signal has asked for a stop.
pub(crate) fn watch(signals: &Signals) -> impl FnMut(TransferProgress) -> ControlFlow<()> + Send {
    let mut progress = Progress::of("animals");
    move |TransferProgress { step, done, total }| {
        match step {
            TransferStep::ComparePets => progress.at("comparing", done, total),
            TransferStep::CopyPets => progress.at("copying", done, total),
            TransferStep::CopyRecords => {}
        }
        signals.go_on()
    }
}

/// Hands a store over to another one, or gives that up.
async fn hand_over(args: MoveArgs, signals: &Signals) -> Result<String, Failure> {
    let MoveArgs { stores, cancel: gives_up } = args;
    let (from, to) = stores.locations().await?;
    let target_mode = if gives_up { OpenMode::ReadWrite } else { OpenMode::Create };
    with_store(from, OpenMode::ReadWrite, async |source| {
        with_store(to, target_mode, async |target| {
            let source = source.side(from).map_err(Failure::runtime)?;
            let target = target.side(to).map_err(Failure::runtime)?;
            if gives_up {
                cancel(&source, &target).await.map_err(Failure::runtime)?;
                return Ok(format!("{from} is open, and nothing is handed over\n"));
            }
            let mover = Mover::new(source, target, Arc::new(SystemClock));
            let done = mover.run(&mut watch(signals)).await;
            let paused = done.map_err(Failure::runtime)?.as_ref().map_or(0, Duration::as_millis);
            Ok(format!(
                "{from} was handed over to {to}, and writes waited {paused} ms; restart services with --store {to}\n"
            ))
        })
        .await
    })
    .await
}

/// Makes a store of its own of one that was handed over, or is being filled.
async fn make_independent(ReleaseArgs { url, force }: ReleaseArgs) -> Result<String, Failure> {
    let location = &*url.location;
    if !force {
        return Err(Failure::usage(format!(
            "if {location} was handed over or is a backup, it may hold less than the other store; --force makes a store of its own of it"
        )));
    }
    with_store(location, OpenMode::ReadWrite, async |store| {
        let side = store.side(location).map_err(Failure::runtime)?;
        let id = StoreId(random()?);
        let released = release(&*side.handover, id).await.map_err(Failure::runtime)?;
        if !released {
            return Err(Failure::runtime("its state was changed meanwhile; run it again"));
        }
        Ok(format!("{location} is a store of its own now, and open\n"))
    })
    .await
}
