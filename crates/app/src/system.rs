//! The interface to the operating system: clock, signals, files, console and log; and the failures of the program.

mod clock;
mod console;
mod failure;
mod files;
pub(crate) mod log;
pub(crate) mod process;
mod progress;

pub(crate) use self::{
    clock::{SystemClock, rfc3339},
    console::{Console, Output, columns},
    failure::{Failure, count, one_line_of, quotable, quotable_path},
    files::{Access, IfExists, PartialFile, lock_folder_of, read_bounded, read_secret, read_text},
    log::LogFormat,
    process::Signals,
    progress::Progress,
};
#[cfg(test)]
pub(crate) use self::{console::tests::Recorded, log::tests::Memory};
