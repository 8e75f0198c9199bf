//! Functions that skip a test if this machine lacks something that no package provides, such as root privileges. A
//! skipped test prints the reason. With `PETSTORE_TEST_ALL=1`, the test fails instead.

use std::{
    io::{self, Write as _},
    thread,
};

use crate::{network::Network, programs};

/// Returns a network for `servers` servers; `None` without root privileges, without the right to create network
/// namespaces, or without iproute2.
///
/// # Panics
/// The network cannot be created and `PETSTORE_TEST_ALL=1` is set.
#[must_use]
pub fn network_or_skip(servers: usize) -> Option<Network> {
    or_skip_without("root and iproute2", Network::new(servers))
}

/// Returns the value of `found`. If `found` is an error, prints that the test of this thread is skipped because `need`
/// is missing, and returns `None`. Only this function decides between skipping and failing.
///
/// # Panics
/// `found` is an error and `PETSTORE_TEST_ALL=1` is set.
#[must_use]
#[expect(clippy::panic, reason = "a panic fails the test")]
pub fn or_skip_without<T, E: AsRef<str>>(need: &str, found: Result<T, E>) -> Option<T> {
    match found {
        Ok(found) => Some(found),
        Err(error) if programs::tests_all() => {
            panic!("needs {need}, and PETSTORE_TEST_ALL=1 never skips: {}", error.as_ref())
        }
        Err(error) => {
            say_skipped(&format!("{need}: {}", error.as_ref()));
            None
        }
    }
}

/// Prints that the test of this thread is skipped because `need` is missing. The test runner names each thread after
/// its test.
pub fn say_skipped(need: &str) {
    let thread = thread::current();
    let test = thread.name().unwrap_or("a test");
    say(&format!("\n*** SKIPPED: {test} needs {need} ***\n"));
}

/// Prints a line on stderr even if the test passes. Writes to stderr directly, because the test runner captures
/// `eprintln!`.
pub fn say(line: &str) {
    // A failed write is ignored.
    let _ = writeln!(io::stderr().lock(), "{line}");
}
