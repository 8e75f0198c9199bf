//! The error of this crate.

/// What went wrong with a server, for whoever reads the test's output.
pub type Trouble = String;
