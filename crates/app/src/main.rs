//! The binary `petstore`: everything it does is in the library beside it.

use std::process::ExitCode;

fn main() -> ExitCode {
    petstore::run(std::env::args_os())
}
