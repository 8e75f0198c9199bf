//! The commands `store copy`, `store verify`, `store move` and `store release`.

use std::{
    io::{self, IsTerminal as _},
    ops::ControlFlow,
};

use clap::{Args, Subcommand};
use petstore_domain::{Clock as _, StoreCounts, StoreId};
use petstore_transfer::{
    CopySummary, MoveOutcome, MovePreview, Mover, TransferProgress, TransferStep, release,
};
use tokio::task;

use crate::{
    commands::keys::random,
    stores::{
        OpenMode, StoreArg, StoreLocation, StoreNotFound, not_open, require_undamaged, with_opened,
        with_store,
    },
    system::{Console, Failure, Output as _, Progress, Signals, SystemClock},
};

/// Commands for a whole store.
#[derive(Subcommand)]
pub(crate) enum StoreCommand {
    /// Copy a store into an empty one, or continue a copy that was interrupted
    ///
    /// Also copies API keys and valid idempotency records. Animals keep their identifiers. Refuses a target with other
    /// data. No service can use the target until it is complete.
    Copy(BothStores),
    /// Compare two stores and name the first difference
    Verify(BothStores),
    /// Hand a store over to another one while services use it
    ///
    /// Copies the animals, API keys and idempotency records, also those added meanwhile, and then puts the target in
    /// the place of the source; writes wait for less than a second. Services must run with --next-store. Asks before
    /// it begins. If the command was stopped or killed, run it again. See docs/STORES.md.
    Move(MoveArgs),
    /// Open a store as an independent store although it was handed over or is being filled, for example a restored
    /// backup
    Release {
        /// Store to release
        url: StoreArg,
        /// Release although another store may contain more
        #[arg(long)]
        force: bool,
    },
}

/// The flags of `store move`.
#[derive(Args)]
pub(crate) struct MoveArgs {
    #[command(flatten)]
    stores: BothStores,
    /// Cancellation of the handover, which opens the source again
    #[arg(long, conflicts_with_all = ["yes", "dry_run"])]
    cancel: bool,
    /// No question before the handover
    #[arg(long)]
    yes: bool,
    /// Preview of the move, or the reason for its refusal; nothing is changed
    #[arg(long, conflicts_with = "yes")]
    dry_run: bool,
}

/// The flags that name two stores.
#[derive(Args)]
pub(crate) struct BothStores {
    /// Store to read, which must exist
    #[arg(long)]
    from: StoreArg,
    /// Target store
    #[arg(long)]
    to: StoreArg,
}

/// The locations of the source and the target.
type Pair<'a> = (&'a dyn StoreLocation, &'a dyn StoreLocation);

impl BothStores {
    /// Returns both locations. Refuses the same store twice, also under two URLs.
    async fn locations(&self) -> Result<Pair<'_>, Failure> {
        let (from, to) = (&*self.from.location, &*self.to.location);
        let identity = from.identity().await;
        let same = from.to_string() == to.to_string()
            || identity.is_some() && identity == to.identity().await;
        let message = "--from and --to name the same store; name two";
        if same { Err(Failure::usage(message)) } else { Ok((from, to)) }
    }
}

/// Runs the command.
pub(crate) async fn run(command: StoreCommand) -> Result<(), Failure> {
    let signals = Signals::take_over()?;
    let answer = match command {
        StoreCommand::Copy(stores) => transfer(stores, true, &signals).await,
        StoreCommand::Verify(stores) => transfer(stores, false, &signals).await,
        StoreCommand::Move(args) => hand_over(args, &signals).await,
        StoreCommand::Release { url, force } => make_independent(&*url.location, force).await,
    };
    Console.print(&answer?)
}

/// Copies one store to another if `is_copy`; otherwise compares both.
async fn transfer(stores: BothStores, is_copy: bool, signals: &Signals) -> Result<String, Failure> {
    let (from, to) = stores.locations().await?;
    let (mode, stopped) = if is_copy {
        (OpenMode::Create, "stopped; run the same command again to continue")
    } else {
        (OpenMode::ReadOnly, "stopped before everything was compared")
    };
    with_store(from, OpenMode::ReadOnly, async |source| {
        let source = source.copy_ports(from)?;
        require_undamaged(from).await?;
        with_store(to, mode, async |store| {
            let target = store.copy_ports(to)?;
            if store.created_at.is_none() {
                require_undamaged(to).await?;
            }
            if is_copy && target.handover.is_none() {
                Console.note(&format!(
                    "nothing marks {to} while it is incomplete: start no service on it before the copy has ended"
                ));
            }
            let (now, mut watch) = (SystemClock.now(), watch(signals));
            let done = if is_copy {
                let copied = petstore_transfer::copy(source, target, now, &mut watch).await;
                copied.map(|CopySummary { found, pets, keys, records, was_marked: _ }| {
                    format!(
                        "copied {pets} animals ({found} were there before), {keys} API keys and {records} \
                         idempotency records\n"
                    )
                })
            } else {
                let (source, target) = (source.archive, target.archive);
                let equal = petstore_transfer::verify(source, target, now, &mut watch).await;
                equal.map(|counts| format!("the stores are equal: {}\n", shown(counts)))
            };
            done.map_err(|error| signals.stopped_or(stopped, Failure::runtime(error)))
        })
        .await
    })
    .await
}

fn shown(StoreCounts { pets, keys, records }: StoreCounts) -> String {
    format!("{pets} animals, {keys} API keys and {records} idempotency records")
}

/// Returns a callback that shows the progress, and cancels the work after a stop signal.
fn watch(signals: &Signals) -> impl FnMut(TransferProgress) -> ControlFlow<()> + Send {
    let mut progress = Progress::of("animals");
    move |TransferProgress { step, done, total }| {
        match step {
            TransferStep::ComparePets => progress.at("comparing", done, total),
            TransferStep::CopyPets => progress.at("copying", done, total),
            TransferStep::CopyRecords | TransferStep::ChangeState => {}
        }
        signals.control_flow()
    }
}

/// Runs `store move`: hands over, cancels a handover, or shows a preview.
async fn hand_over(args: MoveArgs, signals: &Signals) -> Result<String, Failure> {
    let MoveArgs { stores, cancel, yes, dry_run } = args;
    if !(yes || dry_run || cancel || io::stdin().is_terminal()) {
        return Err(Failure::usage(
            "a handover asks before it begins, and there is no terminal to answer; --yes begins without asking",
        ));
    }
    let (from, to) = stores.locations().await?;
    if !cancel {
        let preview = preview((from, to), signals).await?;
        if dry_run {
            return Ok(preview);
        }
        if !yes && !confirms(&preview, (from, to)).await? {
            return Err(Failure::runtime("nothing is handed over, and nothing was changed"));
        }
    }
    let (before, waited) = match run_mover((from, to), cancel, signals).await? {
        MoveOutcome::HandedOver { writes_waited } => ("", writes_waited.as_millis()),
        MoveOutcome::AlreadyHandedOver => (" before", 0),
        MoveOutcome::SealedAgain => (" before, but had forgotten its seal, and is sealed now", 0),
        MoveOutcome::Canceled => {
            return Ok(format!("{from} is open, and nothing is handed over\n"));
        }
    };
    Ok(format!(
        "{from} was handed over to {to}{before}, and writes waited {waited} ms; restart services with --store {to}\n"
    ))
}

/// Hands the first store over to the second, or cancels a handover.
pub(crate) async fn run_mover(
    (from, to): Pair<'_>,
    cancel: bool,
    signals: &Signals,
) -> Result<MoveOutcome, Failure> {
    let target_mode = if cancel { OpenMode::ReadWrite } else { OpenMode::Create };
    with_store(from, OpenMode::ReadWrite, async |source| {
        with_store(to, target_mode, async |target| {
            let [source, target] = [source.ports(from)?, target.ports(to)?];
            let mover = Mover::new(source, target, SystemClock.now());
            let mut watch = watch(signals);
            let done =
                if cancel { mover.cancel(&mut watch).await } else { mover.run(&mut watch).await };
            done.map_err(Failure::runtime)
        })
        .await
    })
    .await
}

/// Returns a description of what a handover would move. Changes nothing, and creates no target.
///
/// # Errors
/// The reason why a handover is not possible.
async fn preview((from, to): Pair<'_>, signals: &Signals) -> Result<String, Failure> {
    with_store(from, OpenMode::ReadOnly, async |source| {
        let archive = source.copy_ports(from)?.archive;
        require_undamaged(from).await?;
        let opened = to.open(OpenMode::ReadOnly.into()).await;
        if opened.as_ref().is_err_and(|problem| problem.is::<StoreNotFound>()) {
            source.ports(from)?;
            source.require_open(from).await?;
            let counts = async { archive.snapshot().await?.counts().await };
            let counts = shown(counts.await.map_err(Failure::of_store)?);
            return Ok(format!(
                "{from} holds {counts}; {to} does not exist yet, and will be created\n"
            ));
        }
        with_opened(opened.map_err(not_open)?, async |target| {
            require_undamaged(to).await?;
            let [source, target] = [source.ports(from)?, target.ports(to)?];
            let mover = Mover::new(source, target, SystemClock.now());
            let preview = mover.preview(&mut watch(signals)).await.map_err(Failure::runtime)?;
            let MovePreview { source, target, is_handed_over } = preview;
            let (source, target) = (shown(source), shown(target));
            let before = if is_handed_over { "; it was handed over before" } else { "" };
            Ok(format!("{from} holds {source}{before}; {to} holds {target}\n"))
        })
        .await
    })
    .await
}

/// Asks the user whether to begin.
async fn confirms(preview: &str, (from, to): Pair<'_>) -> Result<bool, Failure> {
    Console.note(&format!(
        "{preview}Every service that uses {from} must run with --next-store {to} now. A service without it answers 503 \
         from the handover on, until it is restarted with --store {to}.\nHand {from} over to {to}? [y/N]"
    ));
    let answer = task::spawn_blocking(|| io::stdin().lines().next().transpose());
    let answer = answer.await.map_err(Failure::runtime)?.map_err(Failure::runtime)?;
    Ok(answer.is_some_and(|line| ["y", "yes"].contains(&&*line.trim().to_lowercase())))
}

/// Runs `store release`.
async fn make_independent(location: &dyn StoreLocation, force: bool) -> Result<String, Failure> {
    if !force {
        return Err(Failure::usage(format!(
            "{location} may hold less than the store that it was handed over to or copied from; --force releases it"
        )));
    }
    give_identity(location).await?;
    Ok(format!("{location} is a store of its own now, and open\n"))
}

/// Sets the phase of the store to open, and gives the store a new identity.
pub(crate) async fn give_identity(location: &dyn StoreLocation) -> Result<(), Failure> {
    with_store(location, OpenMode::ReadWrite, async |store| {
        let (ports, id) = (store.ports(location)?, StoreId(random()?));
        let released = release(&*ports.handover, id).await.map_err(Failure::runtime)?;
        let why = "the state of the store was changed meanwhile; run the command again";
        if released { Ok(()) } else { Err(Failure::runtime(why)) }
    })
    .await
}
