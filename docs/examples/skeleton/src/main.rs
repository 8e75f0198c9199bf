//! petstore with one more kind of store, `mine:NAME`.

use std::process::ExitCode;

use my_store::MY_STORES;
use petstore::App;

fn main() -> ExitCode {
    App::new().with_built_in_stores().with_store(MY_STORES).run(std::env::args_os())
}
