//! Measures the petstore service beside bare hyper, beside another build of itself, and in
//! instructions.
//!
//! Start with `workload.rs`, which holds what clients do. `contest.rs` lets two servers take turns
//! under the same load; `ratios.rs`, `slow_disk.rs` and `instructions.rs` are the three reports.

#![expect(clippy::cast_precision_loss, reason = "counts become rates and ratios, far below 2^53")]

mod bare_hyper;
mod build;
mod catalogue;
mod check;
mod cli;
mod client;
mod console;
mod contest;
mod generator;
mod h2load;
mod instructions;
mod number;
mod one_commit_each;
mod procfs;
mod ratios;
mod report;
mod request;
mod round;
mod server;
mod setup;
mod slow_disk;

mod walk;
mod workload;
mod wrk;

use std::process::ExitCode;

use anyhow::Result;
use clap::Parser as _;

use crate::{
    cli::{Baseline, Cli},
    console::note,
    setup::Setup,
};

fn main() -> ExitCode {
    let cli = Cli::parse();
    let done = match &cli.baseline {
        None => measure(&cli),
        Some(Baseline::BareHyper { service, http2 }) => bare_hyper::serve(*service, *http2),
        Some(Baseline::OneCommitEach { file, seconds }) => one_commit_each::run(file, *seconds),
    };
    match done {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            note(format_args!("petstore-bench: {error:#}"));
            ExitCode::FAILURE
        }
    }
}

/// Makes the reports that the command line names.
fn measure(cli: &Cli) -> Result<()> {
    let Cli { ratios, slow_disk, instructions, all, options, .. } = cli;
    let setup = Setup::new(options)?;
    let document = options.write.as_deref();
    if *ratios || *all || !(*slow_disk || *instructions) {
        ratios::run(&setup, options)?.publish(document)?;
    }
    if *slow_disk || *all {
        slow_disk::run(&setup)?.publish(document)?;
    }
    if *instructions || *all {
        let (report, comparison) = instructions::run(&setup, options.accept)?;
        report.publish(document)?;
        comparison?;
    }
    note("done: every answer was right");
    Ok(())
}
