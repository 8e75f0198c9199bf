//! The flags of `healthcheck`.

use std::time::Duration;

use clap::Args;

use super::{listen_address::ListenArg, values};

/// The flags of `healthcheck`.
#[derive(Debug, Args)]
pub(crate) struct HealthcheckArgs {
    #[command(flatten)]
    pub(crate) listen: ListenArg,

    /// Until there is an answer.
    #[arg(long, value_name = "DURATION", default_value = "3s", value_parser = values::timeout)]
    pub(crate) timeout: Duration,
}
