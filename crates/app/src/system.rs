//! The interface to the operating system: clock, signals, files, console and log; and the failures of the program.

pub(crate) mod clock;
pub(crate) mod console;
pub(crate) mod failure;
pub(crate) mod files;
pub(crate) mod log;
pub(crate) mod process;
pub(crate) mod progress;
