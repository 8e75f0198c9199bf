//! The binary with something on its standard input.

use std::{
    io::{Read, Write as _},
    process::{Child, Command, Stdio},
    thread,
};

use crate::support::command::{Finished, exit};

/// Starts `petstore` with a pipe for its standard input.
pub(crate) fn fed(words: &[&str]) -> Child {
    let mut command = Command::new(env!("CARGO_BIN_EXE_petstore"));
    command.env_clear().args(words).current_dir(env!("CARGO_TARGET_TMPDIR"));
    command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
    command.spawn().unwrap()
}

/// Runs `petstore` to its end, with `text` on its standard input.
#[track_caller]
pub(crate) fn feed(words: &[&str], text: &str) -> Finished {
    let mut child = fed(words);
    let stdout = collect(child.stdout.take().unwrap());
    let stderr = collect(child.stderr.take().unwrap());
    // It may end before it has read everything.
    let _ = child.stdin.take().unwrap().write_all(text.as_bytes());
    let code = exit(&mut child);
    Finished { code, stdout: stdout.join().unwrap(), stderr: stderr.join().unwrap() }
}

fn collect(mut pipe: impl Read + Send + 'static) -> thread::JoinHandle<String> {
    thread::spawn(move || {
        let mut text = String::new();
        pipe.read_to_string(&mut text).unwrap();
        text
    })
}
