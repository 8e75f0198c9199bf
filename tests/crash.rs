//! Crashes: whatever ends the process or the machine, what was acknowledged is there, once.
//!
//! Beside each test runs the same with a store that does not wait for the disk, which must lose
//! something: a test that cannot fail would show nothing.
//!
//! This is the short form. `PETSTORE_TEST_CRASHES=long` makes it 200 kills, 100 power cuts and 2,000
//! cut points. `docs/GUARANTEES.md` has the figures.

pub(crate) mod disk;
mod history;
mod image;
mod kill;
mod load;
mod power;
mod torn;
mod write_log;

use std::env;

/// The number of crashes, stops or clients in this form of the tests.
pub(crate) fn crashes(short: usize, long: usize) -> usize {
    match env::var("PETSTORE_TEST_CRASHES").as_deref() {
        Ok("long") => long,
        Ok(other) => panic!("PETSTORE_TEST_CRASHES can be 'long', not '{other}'"),
        Err(_) => short,
    }
}
