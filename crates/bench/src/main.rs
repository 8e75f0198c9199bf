//! Measures the petstore service: its speed beside bare hyper or another build, its instructions and its system calls.
//!
//! `workload.rs` defines the requests of clients. `contest.rs` runs two servers in turns under the same load. The
//! reports are in `ratios.rs`, `instructions.rs` and `calls.rs`.

#![expect(clippy::cast_precision_loss, reason = "counts become rates and ratios, far below 2^53")]

mod bare_hyper;
mod build;
mod calls;
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
mod procfs;
mod ratios;
mod report;
mod request;
mod round;
mod server;
mod setup;
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
    };
    match done {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            note(format_args!("petstore-bench: {error:#}"));
            ExitCode::FAILURE
        }
    }
}

/// Makes the reports of the command line.
fn measure(cli: &Cli) -> Result<()> {
    let Cli { ratios, instructions, calls, all, options, .. } = cli;
    let document = options.write.as_deref();
    if *ratios || *all || !(*instructions || *calls) {
        ratios::run(&Setup::new(options, options.short)?, options)?.publish(document)?;
    }
    if *calls || *all {
        calls::run(&Setup::new(options, options.short)?, options)?.publish(document)?;
    }
    if *instructions || *all {
        let setup = Setup::new(options, true)?;
        let (report, comparison) = instructions::run(&setup, options.accept)?;
        report.publish(document)?;
        comparison?;
    }
    note("done: every checked response was correct");
    Ok(())
}
