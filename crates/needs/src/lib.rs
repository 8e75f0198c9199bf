//! `#[needs(postgres)]` above a test: where that is not installed, the test is ignored, and the reason says which
//! packages to install. `#[needs(time)]` above a test that takes long. With `PETSTORE_TEST_ALL=1` neither is ever ignored.
//!
//! A test cannot say at run time that it is ignored, so a build script looks for the programs.

use proc_macro::TokenStream;

#[path = "../../testing/src/programs.rs"]
#[expect(dead_code, reason = "the build script looks for the programs")]
mod programs;

use programs::NEEDS;

/// The names of the needs that are not met here.
const MISSING: &str = env!("MISSING");

/// Ignores a test where something that it needs is not there: `#[needs(postgres, time)]`.
#[proc_macro_attribute]
pub fn needs(names: TokenStream, test: TokenStream) -> TokenStream {
    let names = names.to_string();
    let mut missing = Vec::new();
    for name in names.split(',').map(str::trim).filter(|name| !name.is_empty()) {
        let Some((_, _, package)) = NEEDS.iter().find(|(known, ..)| *known == name) else {
            return tokens(&format!("compile_error!(\"there is no need '{name}'\");"));
        };
        if MISSING.split(' ').any(|missing| missing == name) {
            let time = || "takes long: run with PETSTORE_TEST_ALL=1".to_owned();
            missing.push(if package.is_empty() { time() } else { format!("install {package}") });
        }
    }
    // Another such attribute may have ignored it already.
    if missing.is_empty() || test.to_string().contains("#[ignore") {
        return test;
    }
    let reason = missing.join(", ");
    tokens(&format!("#[ignore = {reason:?}]")).into_iter().chain(test).collect()
}

fn tokens(code: &str) -> TokenStream {
    code.parse().unwrap_or_default()
}
