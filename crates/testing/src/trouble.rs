//! The error of this crate.

/// The description of a server's fault, for the output of a test.
pub type Trouble = String;
