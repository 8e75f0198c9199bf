//! petstore with stores `file:PATH` that have no archive, to see which commands then fail.

use std::process::ExitCode;

use example_adapter::WITHOUT_ARCHIVE;
use petstore::App;

fn main() -> ExitCode {
    App::new().with_built_in_stores().with_store(WITHOUT_ARCHIVE).run(std::env::args_os())
}
