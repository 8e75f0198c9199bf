//! The same program on a store without an archive, to see what does not work then.

use std::process::ExitCode;

use example_adapter::WITHOUT_ARCHIVE;
use petstore::App;

fn main() -> ExitCode {
    App::new().with_built_in_stores().with_store(WITHOUT_ARCHIVE).run(std::env::args_os())
}
