//! C libraries that are preloaded into a process, to see or to change what it asks of the system.

use std::{
    fs,
    path::{Path, PathBuf},
    process::Command,
};

/// Compiles `source` into a library in `folder`, with the C compiler, which building SQLite needs
/// anyway. `LD_PRELOAD` takes the path that is returned.
pub(crate) fn compile(source: &str, folder: &Path) -> PathBuf {
    let [code, library] = ["preload.c", "preload.so"].map(|name| folder.join(name));
    fs::write(&code, source).unwrap();
    let mut command = Command::new("cc");
    command.args(["-O1", "-Wall", "-Werror", "-fPIC", "-shared", "-o"]);
    command.arg(&library).arg(&code).arg("-ldl");
    let output = command.output().unwrap();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    library
}
