//! The flags of `serve` that limit something.

use std::{
    num::{NonZeroU32, NonZeroUsize},
    time::Duration,
};

use clap::Args;
use petstore_http::Limits;

use crate::cli::values;

/// Limits and times.
#[derive(Debug, Args)]
pub(super) struct LimitArgs {
    /// Maximum number of connections served at once; one more waits.
    #[arg(
        long,
        value_name = "NUMBER",
        default_value = "10000",
        value_parser = values::connections::<NonZeroUsize>
    )]
    max_connections: NonZeroUsize,

    /// Maximum time from the first byte of a request until its header fields have arrived.
    #[arg(long, value_name = "DURATION", default_value = "10s", value_parser = values::timeout)]
    header_timeout: Duration,

    /// Maximum time for which a connection waits for its next request: longer than a balancer keeps an idle one.
    #[arg(long, value_name = "DURATION", default_value = "75s", value_parser = values::timeout)]
    idle_timeout: Duration,

    /// Maximum time until the body of a request has arrived.
    #[arg(long, value_name = "DURATION", default_value = "10s", value_parser = values::timeout)]
    body_timeout: Duration,

    /// Maximum time for which a client takes nothing of a response, or less than 1 KiB a second.
    #[arg(long, value_name = "DURATION", default_value = "30s", value_parser = values::timeout)]
    write_timeout: Duration,

    /// Maximum time for a request as a whole; beyond it the answer is 503.
    #[arg(long, value_name = "DURATION", default_value = "30s", value_parser = values::timeout)]
    request_timeout: Duration,

    /// Maximum size of a request body.
    #[arg(long, value_name = "SIZE", default_value = "64KiB", value_parser = values::body_size)]
    max_body: usize,

    /// Maximum size of all request bodies that are held at a time; beyond it the answer is 503.
    #[arg(long, value_name = "SIZE", default_value = "64MiB", value_parser = values::memory)]
    max_buffered_bodies: usize,

    /// Maximum number of requests a second of each API key, and at once; beyond it the answer is 429
    /// [default: no limit].
    #[arg(long, value_name = "NUMBER", value_parser = values::rate)]
    rate_limit: Option<NonZeroU32>,

    /// Memory for encoded pages and animals, which are sent again while the catalogue does not change.
    #[arg(
        long,
        alias = "kept-pages",
        value_name = "SIZE",
        default_value = "16MiB",
        value_parser = values::memory
    )]
    page_cache: usize,

    /// Maximum time from the signal to stop until open connections are cut off.
    #[arg(long, value_name = "DURATION", default_value = "10s", value_parser = values::grace)]
    shutdown_grace: Duration,
}

impl LimitArgs {
    /// Returns the limits as the HTTP adapter takes them.
    pub(super) fn limits(&self) -> Limits {
        Limits {
            header_timeout: self.header_timeout,
            idle_timeout: self.idle_timeout,
            body_timeout: self.body_timeout,
            write_timeout: self.write_timeout,
            request_timeout: self.request_timeout,
            max_connections: self.max_connections,
            max_body: self.max_body,
            max_buffered_bodies: self.max_buffered_bodies,
            rate_limit: self.rate_limit,
            page_cache: self.page_cache,
            shutdown_grace: self.shutdown_grace,
            ..Limits::default()
        }
    }
}
