//! The binary `petstore`. The library beside it contains all of its code.

use std::process::ExitCode;

use petstore::App;

fn main() -> ExitCode {
    App::new().with_built_in_stores().run(std::env::args_os())
}
