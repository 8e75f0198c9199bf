//! The same program on a store without an archive, to see what does not work then.

use std::process::ExitCode;

use example_adapter::FileStores;
use petstore::App;

fn main() -> ExitCode {
    let stores = FileStores::without_archive();
    App::new().with_built_in_stores().with_store(stores).run(std::env::args_os())
}
