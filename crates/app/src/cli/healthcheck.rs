//! The flags of `healthcheck`.

use std::time::Duration;

use clap::Args;

use super::{listen_address::ListenAddress, values};

/// The flags of `healthcheck`.
#[derive(Debug, Args)]
pub(crate) struct HealthcheckArgs {
    /// Where the service listens; an address for all interfaces is asked on this machine.
    #[arg(long, value_name = "ADDRESS", env = "PETSTORE_LISTEN", default_value = "127.0.0.1:8080")]
    pub(crate) listen: ListenAddress,

    /// Until there is an answer.
    #[arg(
        long,
        value_name = "DURATION",
        env = "PETSTORE_TIMEOUT",
        default_value = "3s",
        value_parser = values::timeout
    )]
    pub(crate) timeout: Duration,
}
