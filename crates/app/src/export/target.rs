//! The target of an export: standard output, or a file that appears whole or not at all.

#[cfg(test)]
mod tests;

use std::{
    fs,
    io::{self, Write as _},
};

use crate::{
    cli::FileArg,
    console::stdout_failed,
    failure::Failure,
    partial_file::{Access, IfExists, PartialFile},
};

/// What an export is written to.
#[derive(Debug)]
pub(super) enum Target {
    Standard,
    File(PartialFile),
}

impl Target {
    /// Begins to write. A file that is there is refused unless `force` is given.
    pub(super) fn open(file: FileArg, force: bool) -> Result<Self, Failure> {
        let if_exists =
            if force { IfExists::Replace } else { IfExists::Refuse("--force replaces it") };
        match file {
            FileArg::Standard => Ok(Self::Standard),
            FileArg::Path(path) if fs::metadata(&path).is_ok_and(|found| !found.is_file()) => {
                Err(Failure::runtime(format!(
                    "{} is not a plain file; use '-' and redirect standard output",
                    path.display()
                )))
            }
            FileArg::Path(path) => {
                PartialFile::begin(&path, if_exists, Access::Everybody).map(Self::File)
            }
        }
    }

    pub(super) fn write(&mut self, text: &[u8]) -> Result<(), Failure> {
        match self {
            Self::Standard => {
                let mut stdout = io::stdout().lock();
                let written = stdout.write_all(text).and_then(|()| stdout.flush());
                written.map_err(|error| stdout_failed(&error))
            }
            Self::File(file) => file.write(text),
        }
    }

    /// Makes the file durable under its name. Says where it is, for people.
    pub(super) fn finish(self) -> Result<String, Failure> {
        match self {
            Self::Standard => Ok("standard output".to_owned()),
            Self::File(file) => file.finish(),
        }
    }
}
