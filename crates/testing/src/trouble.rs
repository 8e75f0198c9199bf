//! The error of this crate.

/// The fault of a server, for the reader of the test's output.
pub type Trouble = String;
