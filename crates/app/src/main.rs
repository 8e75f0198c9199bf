//! The binary `petstore`: everything it does is in the library beside it.

use std::process::ExitCode;

use petstore::App;

fn main() -> ExitCode {
    App::new().with_built_in_stores().run(std::env::args_os())
}
