//! The output of commands: results on stdout, notes on stderr.

use std::{
    array,
    fs::{self, File},
    io::{self, IsTerminal as _, Write as _},
    os::{fd::AsFd as _, unix::fs::MetadataExt as _},
};

use crate::system::Failure;

#[cfg(test)]
pub(crate) mod tests;

/// The beginning of the message about a failed write.
const CANNOT_WRITE: &str = "cannot write to stdout";

/// The output of a command.
pub(crate) trait Output {
    /// Writes `text` to stdout.
    fn write(&mut self, text: &[u8]) -> io::Result<()>;

    /// Writes `text` to stdout. Also fails if a reader has closed the pipe.
    fn print(&mut self, text: impl AsRef<[u8]>) -> Result<(), Failure> {
        self.write(text.as_ref()).map_err(Failure::context(CANNOT_WRITE))
    }

    /// Writes `text` to stdout. Succeeds if a reader such as head(1) has closed the pipe.
    fn show(&mut self, text: &str) -> Result<(), Failure> {
        match self.write(text.as_bytes()) {
            Err(error) if error.kind() == io::ErrorKind::BrokenPipe => Ok(()),
            written => written.map_err(Failure::context(CANNOT_WRITE)),
        }
    }

    /// Writes a line to stderr. Ignores failures, which could only be reported on stderr.
    fn note(&mut self, line: &str);

    /// Returns whether stdout is a terminal.
    fn is_terminal(&self) -> bool;

    /// Checks that somebody can read stdout. Called before a key is created, because the key is shown only once.
    fn has_reader(&self) -> io::Result<()>;
}

/// The stdout and stderr of this process.
#[derive(Debug)]
pub(crate) struct Console;

impl Output for Console {
    fn write(&mut self, text: &[u8]) -> io::Result<()> {
        let mut stdout = io::stdout().lock();
        stdout.write_all(text)?;
        stdout.flush()
    }

    fn note(&mut self, line: &str) {
        let _ = writeln!(io::stderr().lock(), "{line}");
    }

    fn is_terminal(&self) -> bool {
        io::stdout().is_terminal()
    }

    /// Refuses a closed stdout, which is `/dev/null` here: Rust's runtime opens it before `main`, and every write to it
    /// succeeds.
    fn has_reader(&self) -> io::Result<()> {
        let stdout = File::from(io::stdout().as_fd().try_clone_to_owned()?).metadata()?;
        let null = fs::metadata("/dev/null").is_ok_and(|null| {
            (null.dev(), null.ino(), null.rdev()) == (stdout.dev(), stdout.ino(), stdout.rdev())
        });
        if null { Err(io::Error::other("it is closed or /dev/null")) } else { Ok(()) }
    }
}

/// Returns a line for each row. Each column is as wide as its widest cell.
pub(crate) fn columns<const N: usize>(rows: &[[String; N]]) -> String {
    let width = |column: usize| rows.iter().map(|row| row[column].chars().count()).max();
    let widths: [_; N] = array::from_fn(|column| width(column).unwrap_or_default());
    let lines = rows.iter().map(|row| {
        let padded = row.iter().zip(widths).map(|(cell, width)| format!("{cell:<width$}"));
        format!("{}\n", padded.collect::<Vec<_>>().join("  ").trim_end())
    });
    lines.collect()
}
