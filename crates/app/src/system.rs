//! The process in its system: clock, signals, files, console, log, and how a failure ends the program.

pub(crate) mod clock;
pub(crate) mod console;
pub(crate) mod failure;
pub(crate) mod files;
pub(crate) mod log;
pub(crate) mod process;
pub(crate) mod progress;
