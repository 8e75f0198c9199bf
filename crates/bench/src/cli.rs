//! The command line.

use std::{net::SocketAddr, path::PathBuf};

use clap::{Args, Parser, Subcommand};

use crate::workload::WORKLOADS;

const NOTES: &str = "\
The default report is --ratios. Give --binary twice to compare two builds in turns under the same load; \
the ratio is the second to the first.

Exit codes: 0 success, 1 a wrong response or a failure, 2 wrong usage. A slow service is no failure, but \
an instruction count above the tolerance is one.";

/// Measures the petstore service against bare hyper on the same machine, in turns.
#[derive(Debug, Parser)]
#[expect(clippy::struct_excessive_bools, reason = "each is a flag")]
#[command(name = "petstore-bench", version, after_help = NOTES)]
pub(crate) struct Cli {
    #[command(subcommand)]
    pub(crate) baseline: Option<Baseline>,
    /// Each workload on SQLite, beside bare hyper with a constant page.
    #[arg(long, help_heading = "Reports")]
    pub(crate) ratios: bool,
    /// Instructions of the hot paths, compared with the counts in the repository (needs valgrind).
    #[arg(long, help_heading = "Reports")]
    pub(crate) instructions: bool,
    /// System calls of each workload except `million`, counted in a round of its own (needs perf, or else strace).
    #[arg(long, help_heading = "Reports")]
    pub(crate) calls: bool,
    /// All reports.
    #[arg(long, help_heading = "Reports")]
    pub(crate) all: bool,
    #[command(flatten)]
    pub(crate) options: Options,
}

/// The options of a measurement.
#[derive(Args, Clone, Debug)]
pub(crate) struct Options {
    /// Short form for continuous integration: 8 workloads, fewer rounds and a smaller store.
    #[arg(long)]
    pub(crate) short: bool,
    /// Built petstore to measure; twice to compare the second with the first [default: build this workspace with the
    /// profile `dist`, or `release` with --short and for --instructions].
    #[arg(long, value_name = "PATH")]
    pub(crate) binary: Vec<PathBuf>,
    /// Names of the workloads [default: all].
    #[arg(long, value_name = "NAME,…", value_delimiter = ',', value_parser = workload_names())]
    pub(crate) workloads: Vec<String>,
    /// Numbers of connections for --ratios, one row for each.
    #[arg(long, value_name = "NUMBER,…", value_delimiter = ',', default_values_t = [64])]
    pub(crate) connections: Vec<usize>,
    /// Rounds of each server for --ratios [default: 5; with --short 3].
    #[arg(long, value_name = "NUMBER")]
    pub(crate) rounds: Option<usize>,
    /// Seconds of a round.
    #[arg(long, value_name = "NUMBER", default_value_t = 1, value_parser = clap::value_parser!(u32).range(1..))]
    pub(crate) seconds: u32,
    /// Markdown document to update: each report replaces the text between `<!-- begin: NAME -->` and
    /// `<!-- end: NAME -->`, where NAME is `ratios`, `instructions` or `calls`.
    #[arg(long, value_name = "FILE")]
    pub(crate) write: Option<PathBuf>,
    /// With --instructions: replace the instruction counts in the repository by the new counts.
    #[arg(long)]
    pub(crate) accept: bool,
}

/// A baseline that this program runs in a process of its own.
#[derive(Debug, Subcommand)]
pub(crate) enum Baseline {
    /// Bare hyper with one constant response.
    #[command(hide = true)]
    BareHyper {
        /// Address of the service whose first page is the response.
        service: SocketAddr,
        #[arg(long)]
        http2: bool,
    },
}

fn workload_names() -> clap::builder::PossibleValuesParser {
    WORKLOADS.iter().map(|workload| workload.name).collect::<Vec<_>>().into()
}
