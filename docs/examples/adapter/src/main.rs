//! petstore with one more kind of store, `file:PATH`.

use std::process::ExitCode;

use example_adapter::FILE_STORES;
use petstore::App;

fn main() -> ExitCode {
    App::new().with_built_in_stores().with_store(FILE_STORES).run(std::env::args_os())
}
