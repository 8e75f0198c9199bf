//! Upgrades of stores that releases have made. `upgrades/RELEASE` has the stores of a release, and their content.
//!
//! `tests/tools/make-fixtures` made these files with the binary of the release. They never change.

mod cut_off;
mod held;
mod old;
mod released;
