//! The command `conformance`.

use clap::Args;

use super::store_arg::StoreArg;

/// Checks the storage contract on throw-away stores.
#[derive(Debug, Args)]
pub(crate) struct ConformanceArgs {
    /// Which kind of store, and where throw-away ones may be made
    #[arg(
        long,
        value_name = "URL",
        env = "PETSTORE_STORE",
        hide_env_values = true,
        value_parser = StoreArg::<false>::unregistered
    )]
    pub(crate) store: StoreArg<false>,
}
