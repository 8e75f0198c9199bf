//! The command line.

use std::path::PathBuf;

use clap::{Args, Parser, Subcommand};

const NOTES: &str = "\
Without a section, --ratios is run, and --postgres where PostgreSQL is installed and nothing narrows \
down what is measured. Give --binary \
twice to measure a change: both binaries take turns under the same load, and the ratio is that of \
the second to the first.

Exit codes: 0 done, 1 a wrong answer or a failure, 2 wrong usage. Slowness is no failure.";

/// Measures the petstore service against bare hyper on the same machine, in turns.
#[derive(Debug, Parser)]
#[command(name = "petstore-bench", version, after_help = NOTES)]
pub(crate) struct Cli {
    #[command(subcommand)]
    pub(crate) server: Option<HiddenServer>,
    #[command(flatten)]
    pub(crate) sections: Sections,
    #[command(flatten)]
    pub(crate) options: Options,
}

/// What is measured.
#[derive(Args, Clone, Debug, Default)]
#[expect(clippy::struct_excessive_bools, reason = "flags of a command line are")]
pub(crate) struct Sections {
    /// Each workload on SQLite, beside bare hyper answering a constant page.
    #[arg(long, help_heading = "Sections")]
    pub(crate) ratios: bool,
    /// PostgreSQL beside pgbench, on the server of this URL or on a throw-away one.
    #[arg(long, value_name = "URL", num_args = 0..=1, default_missing_value = "", help_heading = "Sections")]
    pub(crate) postgres: Option<String>,
    /// Adding animals where each fsync takes 1 ms, beside one commit for each request.
    #[arg(long, help_heading = "Sections")]
    pub(crate) slow_disk: bool,
    /// Catalogues that grow by a factor of a hundred, twice; with kept pages and without.
    #[arg(long, help_heading = "Sections")]
    pub(crate) growth: bool,
    /// Memory of so many idle connections.
    #[arg(long, value_name = "CONNECTIONS", num_args = 0..=1, default_missing_value = "10000", help_heading = "Sections")]
    pub(crate) idle: Option<usize>,
    /// Instructions of the hot paths, compared with the counts that are kept (needs valgrind).
    #[arg(long, help_heading = "Sections")]
    pub(crate) instructions: bool,
    /// All of them.
    #[arg(long, help_heading = "Sections")]
    pub(crate) all: bool,
}

impl Sections {
    /// Whether any was named.
    pub(crate) const fn any(&self) -> bool {
        let Self { ratios, postgres, slow_disk, growth, idle, instructions, all } = self;
        *ratios
            || postgres.is_some()
            || *slow_disk
            || *growth
            || idle.is_some()
            || *instructions
            || *all
    }
}

/// How it is measured, and where the results go.
#[derive(Args, Clone, Debug)]
pub(crate) struct Options {
    /// The form for continuous integration: a few workloads on 64 connections, short rounds.
    #[arg(long)]
    pub(crate) short: bool,
    /// A petstore that is built already; twice: compare the second with the first [default: build
    /// the release binary of this workspace].
    #[arg(long, value_name = "PATH")]
    pub(crate) binary: Vec<PathBuf>,
    /// Only these workloads, by their names [default: all].
    #[arg(long, value_name = "NAME,…", value_delimiter = ',', value_parser = workload)]
    pub(crate) workloads: Vec<String>,
    /// Connections at once, one row for each number.
    #[arg(long, value_name = "NUMBER,…", value_delimiter = ',', default_value = "1,16,64,256")]
    pub(crate) connections: Vec<usize>,
    /// Rounds for each side of a comparison [default: 5, with --short 3].
    #[arg(long, value_name = "NUMBER")]
    pub(crate) rounds: Option<usize>,
    /// Seconds of a round, a whole number.
    #[arg(long, value_name = "NUMBER", default_value_t = 1)]
    pub(crate) seconds: u32,
    /// Threads of the load generator [default: half of the processors].
    #[arg(long, value_name = "NUMBER")]
    pub(crate) threads: Option<usize>,
    /// Sizes of the catalogues of --growth.
    #[arg(
        long,
        value_name = "NUMBER,…",
        value_delimiter = ',',
        default_value = "1000,100000,10000000"
    )]
    pub(crate) growth_sizes: Vec<u64>,
    /// Append every row to this file, as JSON Lines.
    #[arg(long, value_name = "FILE")]
    pub(crate) json: Option<PathBuf>,
    /// Write charts into this folder, as SVG.
    #[arg(long, value_name = "FOLDER")]
    pub(crate) chart: Option<PathBuf>,
    /// Write the tables into this document, each between its marks.
    #[arg(long, value_name = "FILE")]
    pub(crate) write: Option<PathBuf>,
    /// Take the instructions counted now as those to keep.
    #[arg(long, requires = "instructions")]
    pub(crate) accept: bool,
    /// Build the load generator oha below the target folder, unless it is installed.
    #[arg(long)]
    pub(crate) install_generator: bool,
}

impl Options {
    /// Whether nothing narrows down what is measured.
    pub(crate) const fn wants_everything(&self) -> bool {
        !self.short && self.binary.len() < 2 && self.workloads.is_empty()
    }
}

/// Servers that the benchmark starts from its own binary.
#[derive(Debug, Subcommand)]
pub(crate) enum HiddenServer {
    /// Bare hyper with one constant answer.
    #[command(hide = true)]
    Reference {
        /// A file with the answer.
        answer: PathBuf,
        /// Speak HTTP/2 instead of HTTP/1.1.
        #[arg(long)]
        http2: bool,
    },
    /// Bare hyper that adds animals to a new SQLite file, a transaction for each.
    #[command(hide = true)]
    OneCommitEach {
        /// The file.
        file: PathBuf,
    },
}

fn workload(name: &str) -> Result<String, String> {
    use crate::workload::{WORKLOADS, Workload};

    let names: Vec<_> = WORKLOADS.iter().map(|workload| workload.name).collect();
    let known = Workload::named(name).map(|workload| workload.name.to_owned());
    known.ok_or_else(|| format!("there is no such workload; there are {}", names.join(", ")))
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
    fn sections_may_have_a_value_or_none() {
        let parse = |line: &str| Cli::try_parse_from(line.split(' ')).unwrap();
        assert_eq!(parse("x --idle").sections.idle, Some(10_000));
        assert_eq!(parse("x --idle 5").sections.idle, Some(5));
        assert_eq!(parse("x --postgres --short").sections.postgres.as_deref(), Some(""));
        assert!(Cli::try_parse_from(["x", "--workloads", "nothing"]).is_err());
        assert!(Cli::try_parse_from(["x", "--accept"]).is_err());
    }
}
