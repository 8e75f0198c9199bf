//! What people read: answers on stdout, notes on stderr.

use std::{
    fs::{self, File},
    io::{self, IsTerminal as _, Write as _},
    os::{fd::AsFd as _, unix::fs::MetadataExt as _},
};

use crate::failure::Failure;

/// Where a command writes.
pub(crate) trait Output {
    /// Writes `text` to stdout, at once.
    fn answer(&mut self, text: &str) -> io::Result<()>;

    /// Writes a line to stderr. If that fails there is no other place to report it.
    fn note(&mut self, line: &str);

    /// Whether answers are read on a terminal.
    fn is_terminal(&self) -> bool;

    /// Whether an answer can be read at all. To be called before a key is made that is shown only
    /// once.
    fn has_reader(&self) -> io::Result<()>;
}

/// The stdout and stderr of this process.
#[derive(Debug)]
pub(crate) struct Console;

impl Output for Console {
    fn answer(&mut self, text: &str) -> io::Result<()> {
        let mut stdout = io::stdout().lock();
        stdout.write_all(text.as_bytes())?;
        stdout.flush()
    }

    fn note(&mut self, line: &str) {
        let _ = writeln!(io::stderr().lock(), "{line}");
    }

    fn is_terminal(&self) -> bool {
        io::stdout().is_terminal()
    }

    /// A closed stdout arrives here as `/dev/null`: Rust's runtime opens that in its place before
    /// `main`, and every write to it succeeds.
    fn has_reader(&self) -> io::Result<()> {
        let stdout = File::from(io::stdout().as_fd().try_clone_to_owned()?).metadata()?;
        let null = fs::metadata("/dev/null").is_ok_and(|null| {
            (null.dev(), null.ino(), null.rdev()) == (stdout.dev(), stdout.ino(), stdout.rdev())
        });
        if null { Err(io::Error::other("it is closed or /dev/null")) } else { Ok(()) }
    }
}

/// What a command says when stdout does not take its answer.
pub(crate) fn stdout_failed(error: &io::Error) -> Failure {
    Failure::runtime(format!("cannot write to stdout: {error}"))
}

#[cfg(test)]
pub(crate) mod recorded {
    use std::io;

    use super::Output;

    /// An output that remembers.
    #[derive(Debug, Default)]
    pub(crate) struct Recorded {
        pub(crate) answers: String,
        pub(crate) notes: String,
        /// How many answers are taken before stdout breaks; all when `None`.
        pub(crate) breaks_after: Option<usize>,
        /// Whether stdout was closed from the beginning.
        pub(crate) closed: bool,
        pub(crate) is_terminal: bool,
    }

    impl Output for Recorded {
        fn answer(&mut self, text: &str) -> io::Result<()> {
            match &mut self.breaks_after {
                Some(0) => return Err(io::ErrorKind::BrokenPipe.into()),
                Some(left) => *left -= 1,
                None => {}
            }
            self.answers.push_str(text);
            Ok(())
        }

        fn note(&mut self, line: &str) {
            self.notes.push_str(line);
            self.notes.push('\n');
        }

        fn is_terminal(&self) -> bool {
            self.is_terminal
        }

        fn has_reader(&self) -> io::Result<()> {
            if self.closed { Err(io::Error::other("it is closed")) } else { Ok(()) }
        }
    }
}
