//! `#[needs(postgres)]` above a test: the test is ignored if PostgreSQL is not installed, and the test runner prints
//! the packages to install.
//!
//! `#[needs(time)]` marks a test that takes more than a few seconds. With `PETSTORE_TEST_ALL=1`, tests that require a
//! program or `time` are never ignored.
//!
//! `#[needs(quiet)]` marks a test that measures time on a machine without other work. Such a test is always ignored.
//! The following command runs these tests one after the other:
//!
//! ```sh
//! PETSTORE_TEST_ALL=1 cargo test --workspace --locked --lib --tests -- --ignored --test-threads=1
//! ```
//!
//! `#[ignore]` is decided at compile time. So the build script of this crate searches for the required programs, and
//! the macro reads the result.

use proc_macro::TokenStream;

#[path = "../../testing/src/programs.rs"]
#[expect(dead_code, reason = "the build script searches for the programs")]
mod programs;

use programs::{NEEDS, QUIET};

/// The names of the requirements that this machine does not meet, separated by spaces.
const MISSING: &str = env!("MISSING");
/// The reason for ignoring a test that measures time.
const IN_QUIET: &str =
    "measures time: run with PETSTORE_TEST_ALL=1 and -- --ignored --test-threads=1";

/// Ignores a test unless this machine meets all named requirements: `#[needs(postgres, time)]`.
#[proc_macro_attribute]
pub fn needs(names: TokenStream, test: TokenStream) -> TokenStream {
    let names = names.to_string();
    let mut missing = Vec::new();
    for name in names.split(',').map(str::trim).filter(|name| !name.is_empty()) {
        let Some((_, _, package)) = NEEDS.iter().find(|(known, ..)| *known == name) else {
            return tokens(&format!("compile_error!(\"unknown requirement '{name}'\");"));
        };
        if MISSING.split(' ').any(|missing| missing == name) {
            missing.push(match name {
                "time" => "takes long: run with PETSTORE_TEST_ALL=1".to_owned(),
                QUIET => IN_QUIET.to_owned(),
                _ => format!("install {package}"),
            });
        }
    }
    // Another `needs` attribute may have ignored the test already.
    if missing.is_empty() || test.to_string().contains("#[ignore") {
        return test;
    }
    let reason = missing.join(", ");
    tokens(&format!("#[ignore = {reason:?}]")).into_iter().chain(test).collect()
}

fn tokens(code: &str) -> TokenStream {
    code.parse().unwrap_or_default()
}
