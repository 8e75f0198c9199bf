//! The command `conformance`.

use clap::Args;

use crate::store_url::StoreUrl;

/// Checks the storage contract on throw-away stores.
#[derive(Debug, Args)]
pub(crate) struct ConformanceArgs {
    /// Which kind of store, and where: sqlite:PATH, a postgres: URL, or memory:.
    ///
    /// The store that it names is neither read nor written. For sqlite:PATH a new directory is made
    /// beside PATH, for PostgreSQL new schemas in the database, all with the settings of the URL;
    /// they are removed afterwards.
    #[arg(
        long,
        value_name = "URL",
        env = "PETSTORE_STORE",
        hide_env_values = true,
        default_value = "sqlite:petstore.db",
        value_parser = StoreUrl::parse
    )]
    pub(crate) store: StoreUrl,
}
