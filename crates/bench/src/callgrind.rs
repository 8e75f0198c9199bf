//! Instructions as valgrind's tool callgrind counts them: the same on a busy machine as on a quiet one.

use std::{
    fs,
    path::{Path, PathBuf},
    process::Command,
};

/// The command that runs `program` under callgrind, which writes the count into the file `counts`.
#[must_use]
pub fn command(valgrind: &Path, program: &Path, counts: &Path) -> Command {
    let mut command = Command::new(valgrind);
    command.args(["--tool=callgrind", "--quiet", "--fair-sched=yes"]);
    command.arg(format!("--callgrind-out-file={}", counts.display())).arg("--").arg(program);
    command
}

/// The instructions that a process took, from the file that callgrind wrote at its end.
#[must_use]
pub fn total(counts: &Path) -> Option<u64> {
    parse(&fs::read_to_string(counts).ok()?)
}

fn parse(counts: &str) -> Option<u64> {
    let line = |start: &str| counts.lines().find_map(|line| line.strip_prefix(start));
    line("totals: ").or_else(|| line("summary: "))?.split(' ').next()?.parse().ok()
}

/// Where valgrind is, if it is installed.
#[must_use]
pub fn find() -> Option<PathBuf> {
    let folders = std::env::var_os("PATH")?;
    let mut programs = std::env::split_paths(&folders).map(|folder| folder.join("valgrind"));
    programs.find(|program| program.is_file())
}

#[cfg(test)]
mod tests {
    use super::parse;

    #[test]
    fn the_total_is_read() {
        let counts =
            "# callgrind format\nevents: Ir\nsummary: 12345\n\nfn=(1)\n1 5\ntotals: 12346\n";
        assert_eq!(parse(counts), Some(12_346));
        assert_eq!(parse("summary: 7\n"), Some(7));
        assert_eq!(parse("events: Ir\n"), None);
    }
}
