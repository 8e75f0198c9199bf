//! C libraries that are preloaded into a process, to watch or to change its system calls.

use std::{
    fs,
    path::{Path, PathBuf},
    process::Command,
};

/// Compiles `source` into a library in `folder`, with the C compiler that SQLite needs too. Returns the path for
/// `LD_PRELOAD`.
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
