//! Upgrades of stores that older releases have made. `upgrades/RELEASE` has a store of each kind, and its content.
//!
//! `tests/tools/make-fixtures` made these files with the binary of the release. They never change.

mod cut_off;
mod held;
mod old;
mod released;
