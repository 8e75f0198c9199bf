//! Measures the petstore service: against bare hyper, against its own past, against the disk.
//!
//! Start reading at `sections.rs`, which runs what was asked for. `workload.rs` is what clients
//! do; `contest.rs` is how two servers take turns; `generator` is who puts the load on.

#![expect(clippy::cast_precision_loss, reason = "counts become rates and ratios, far below 2^53")]

mod bench;
mod build;
mod catalogue;
mod chart;
mod check;
mod cli;
mod client;
mod console;
mod contest;
mod failure;
mod generator;
mod growth;
mod idle;
mod instructions;
mod load;
mod median;
mod one_commit_each;
mod postgres;
mod procfs;
mod random;
mod ratios;
mod reference;
mod report;
mod request;
mod rounds;
mod sections;
mod server;
mod slow_disk;
mod walk;
mod workload;

use std::process::ExitCode;

use clap::Parser as _;

use crate::{
    cli::{Cli, HiddenServer},
    console::note,
    failure::{Context as _, Outcome},
};

fn main() -> ExitCode {
    let cli = Cli::parse();
    let done = match cli.server {
        None => sections::run(&cli.sections, &cli.options),
        Some(server) => serve(server),
    };
    match done {
        Ok(()) => ExitCode::SUCCESS,
        Err(failure) => {
            note(format_args!("petstore-bench: {failure}"));
            ExitCode::FAILURE
        }
    }
}

fn serve(server: HiddenServer) -> Outcome<()> {
    let runtime = tokio::runtime::Runtime::new().cannot("start the runtime")?;
    match server {
        HiddenServer::Reference { answer, http2 } => {
            runtime.block_on(reference::serve(&answer, http2))
        }
        HiddenServer::OneCommitEach { file } => runtime.block_on(one_commit_each::serve(&file)),
    }
}
