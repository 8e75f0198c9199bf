//! The commands `store …`.

use clap::{Args, Subcommand, ValueEnum};

use super::{examples, keys::ListForm, store_arg::StoreArg};

/// What to do with a whole store.
#[derive(Debug, Subcommand)]
pub(crate) enum StoreCommand {
    /// Copy a store into an empty one, or go on with a copy that was cut off.
    ///
    /// Animals keep their identifiers; API keys and the idempotency records that still count are
    /// copied too. A target that holds anything else is refused.
    #[command(after_help = examples::STORE)]
    Copy(BothStores),
    /// Compare two stores and name the first difference.
    #[command(after_help = examples::STORE)]
    Verify(BothStores),
    /// Move a store to another one while services work on it.
    ///
    /// Copies the animals, API keys and idempotency records, follows what is added meanwhile, and lets the
    /// target decide. Running services take part by themselves. Each step is durable: a command that was
    /// stopped or killed is run again. docs/MOVING.md explains it.
    #[command(after_help = examples::STORE_MOVE)]
    Move(MoveArgs),
}

/// Two stores, and how far the one is moved to the other.
#[derive(Debug, Args)]
pub(crate) struct MoveArgs {
    #[command(flatten)]
    pub(crate) stores: BothStores,
    /// Do this step alone [default: follow, flip as soon as the target has caught up, and follow on].
    #[arg(long, value_name = "STEP", conflicts_with = "status")]
    pub(crate) step: Option<MoveStep>,
    /// Show where the move stands, and change nothing.
    #[arg(long)]
    pub(crate) status: bool,
    /// How the status is shown.
    #[arg(long, value_name = "FORM", default_value = "table")]
    pub(crate) output: ListForm,
}

/// A step of a move.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum MoveStep {
    /// Begin or resume it, and copy from the store that decides until a signal stops it.
    Follow,
    /// Catch up, and let the target decide.
    Flip,
    /// Catch up, and let the source decide again.
    Back,
    /// End it: the store that decides stays, and the other one takes no more writes.
    Finish,
}

/// Two stores.
#[derive(Debug, Args)]
pub(crate) struct BothStores {
    /// The store to read, which must exist
    #[arg(
        long,
        value_name = "URL",
        hide_env_values = true,
        value_parser = StoreArg::<true>::unregistered
    )]
    pub(crate) from: StoreArg<true>,
    /// The store to write or to compare with
    #[arg(
        long,
        value_name = "URL",
        hide_env_values = true,
        value_parser = StoreArg::<true>::unregistered
    )]
    pub(crate) to: StoreArg<true>,
}
