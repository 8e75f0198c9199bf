//! Stores that older releases have made: `upgrades/RELEASE` has one of each kind, with what it holds.
//!
//! `tests/tools/make-fixtures` has made them with the binary of that release. They are never made anew.

mod cut_off;
mod held;
mod old;
mod released;
