//! The error of this crate.

/// What went wrong with a server, for the reader of the test's output.
pub type Trouble = String;
