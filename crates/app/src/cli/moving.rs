//! The commands `store …`.

use clap::{Args, Subcommand};

use super::store_arg::StoreArg;

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
    /// --next-store. A command that was stopped or killed is run again. docs/MOVING.md explains it.
    Move(MoveArgs),
    /// Make a store of its own of one that was handed over, or that is being filled, such as a restored backup.
    Release(ReleaseArgs),
}

/// Two stores, of which one takes the place of the other.
#[derive(Debug, Args)]
pub(crate) struct MoveArgs {
    #[command(flatten)]
    pub(crate) stores: BothStores,
    /// Give it up, and let the source go on.
    #[arg(long)]
    pub(crate) cancel: bool,
}

/// A store that is not open.
#[derive(Debug, Args)]
pub(crate) struct ReleaseArgs {
    /// The store
    pub(crate) url: StoreArg,
    /// Do it although another store may hold more.
    #[arg(long)]
    pub(crate) force: bool,
}

/// Two stores.
#[derive(Debug, Args)]
pub(crate) struct BothStores {
    /// The store to read, which must exist
    #[arg(long)]
    pub(crate) from: StoreArg,
    /// The store to write or to compare with
    #[arg(long)]
    pub(crate) to: StoreArg,
}
