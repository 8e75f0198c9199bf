//! The command line.

use std::{net::SocketAddr, path::PathBuf};

use clap::{Args, Parser, Subcommand};

use crate::workload::WORKLOADS;

const NOTES: &str = "\
Without a report, --ratios is made. Give --binary twice to compare two builds: they take turns under \
the same load, and the ratio is that of the second to the first.

Exit codes: 0 done, 1 a wrong answer or a failure, 2 wrong usage. Slowness is no failure.";

/// Measures the petstore service against bare hyper on the same machine, in turns.
#[derive(Debug, Parser)]
#[expect(clippy::struct_excessive_bools, reason = "each is a flag")]
#[command(name = "petstore-bench", version, after_help = NOTES)]
pub(crate) struct Cli {
    #[command(subcommand)]
    pub(crate) baseline: Option<Baseline>,
    /// Each workload on SQLite, beside bare hyper answering a constant page.
    #[arg(long, help_heading = "Reports")]
    pub(crate) ratios: bool,
    /// Instructions of the hot paths, compared with the counts in the repository (needs valgrind).
    #[arg(long, help_heading = "Reports")]
    pub(crate) instructions: bool,
    /// System calls of each workload, counted in a round of its own (needs perf, or else strace).
    #[arg(long, help_heading = "Reports")]
    pub(crate) calls: bool,
    /// All of them.
    #[arg(long, help_heading = "Reports")]
    pub(crate) all: bool,
    #[command(flatten)]
    pub(crate) options: Options,
}

/// How it is measured, and where the results go.
#[derive(Args, Clone, Debug)]
pub(crate) struct Options {
    /// The form for continuous integration: a few workloads on 64 connections, short rounds.
    #[arg(long)]
    pub(crate) short: bool,
    /// A petstore that is built already; twice: compare the second with the first [default: build
    /// this workspace with the profile `dist`; with --short and for --instructions with `release`].
    #[arg(long, value_name = "PATH")]
    pub(crate) binary: Vec<PathBuf>,
    /// Only these workloads, by their names [default: all].
    #[arg(long, value_name = "NAME,…", value_delimiter = ',', value_parser = workload_names())]
    pub(crate) workloads: Vec<String>,
    /// Connections at once, one row for each number [default: 64].
    #[arg(long, value_name = "NUMBER,…", value_delimiter = ',', default_values_t = [64])]
    pub(crate) connections: Vec<usize>,
    /// Rounds of each side of a comparison [default: 5; with --short 3].
    #[arg(long, value_name = "NUMBER")]
    pub(crate) rounds: Option<usize>,
    /// Seconds of a round.
    #[arg(long, value_name = "NUMBER", default_value_t = 1, value_parser = clap::value_parser!(u32).range(1..))]
    pub(crate) seconds: u32,
    /// Replace the tables in this Markdown document, each between its markers.
    #[arg(long, value_name = "FILE")]
    pub(crate) write: Option<PathBuf>,
    /// Take the instructions counted now as those to compare with.
    #[arg(long)]
    pub(crate) accept: bool,
}

/// A server that the service is measured against, run by this program in a process of its own.
#[derive(Debug, Subcommand)]
pub(crate) enum Baseline {
    /// Bare hyper with one constant answer.
    #[command(hide = true)]
    BareHyper {
        /// Where the service listens whose first page is the answer.
        service: SocketAddr,
        #[arg(long)]
        http2: bool,
    },
}

fn workload_names() -> clap::builder::PossibleValuesParser {
    WORKLOADS.iter().map(|workload| workload.name).collect::<Vec<_>>().into()
}

#[cfg(test)]
mod tests {
    use clap::{CommandFactory as _, Parser as _};

    use super::Cli;

    #[test]
    fn the_command_line_is_sound() {
        Cli::command().debug_assert();
    }

    #[test]
    fn a_workload_must_exist() {
        assert!(Cli::try_parse_from(["x", "--workloads", "list,create"]).is_ok());
        assert!(Cli::try_parse_from(["x", "--workloads", "nothing"]).is_err());
    }
}
