//! Runs the binary and other programs, and reads their output.

use std::{
    ffi::OsStr,
    io::{BufRead as _, BufReader, Read, Write as _},
    iter,
    path::Path,
    process::{Child, Command, Stdio},
    sync::mpsc::{self, RecvTimeoutError},
    thread,
    time::{Duration, Instant},
};

use petstore_testing::EndOnDrop;

use super::{disk::Disk, wait};

/// A process that is killed when it is dropped.
pub(crate) type Running = EndOnDrop<Child>;

/// The output and status of a command.
#[derive(Debug)]
pub(crate) struct Finished {
    /// `None` if a signal ended the command.
    pub(crate) code: Option<i32>,
    pub(crate) stdout: String,
    pub(crate) stderr: String,
}

/// Builds a command of `petstore` with an empty environment.
pub(crate) fn petstore(arguments: &[&str]) -> Run {
    let mut command = Command::new(env!("CARGO_BIN_EXE_petstore"));
    command.env_clear().args(arguments).current_dir(env!("CARGO_TARGET_TMPDIR"));
    command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped());
    Run(command)
}

/// A command to run.
pub(crate) struct Run(Command);

impl Run {
    pub(crate) fn env(mut self, name: &str, value: &str) -> Self {
        self.0.env(name, value);
        self
    }

    /// Preloads the library of `disk` into the command, so that a test can make its disk hang or fail.
    pub(crate) fn disk(mut self, disk: &Disk) -> Self {
        self.0.envs(disk.environment());
        self
    }

    /// Puts these words before the command, for example to run it in a network namespace (ip-netns(8)).
    pub(crate) fn behind(self, words: [&str; 4]) -> Self {
        self.wrapped(words[0], &words[1..])
    }

    /// Builds a command of `program` with `arguments`, followed by this command.
    fn wrapped(self, program: &str, arguments: &[&str]) -> Self {
        let mut command = Command::new(program);
        command.env_clear().env("PATH", "/usr/bin:/bin:/usr/sbin:/sbin");
        command.envs(self.0.get_envs().filter_map(|(name, value)| Some((name, value?))));
        command.args(arguments).arg(self.0.get_program()).args(self.0.get_args());
        command.current_dir(env!("CARGO_TARGET_TMPDIR"));
        command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped());
        Self(command)
    }

    /// Mounts `folder` read-only for the command. Needs root.
    pub(crate) fn on_read_only(self, folder: &Path) -> Self {
        let path = folder.display();
        let script = format!(
            "mount --bind {path} {path} && mount -o remount,ro,bind {path} && exec \"$0\" \"$@\""
        );
        let words = ["--mount", "--propagation", "private", "/bin/sh", "-c", &script];
        self.wrapped("/usr/bin/unshare", &words)
    }

    /// Sets a limit by these words of `ulimit`: for example `-n 64` for open files, or `-f 100` for the size of each
    /// file in blocks of 512 bytes.
    pub(crate) fn with_limit(self, limit: &str) -> Self {
        self.in_shell(&format!("ulimit {limit}; exec \"$0\" \"$@\""))
    }

    /// Connects standard output to `/dev/full`.
    pub(crate) fn with_full_stdout(self) -> Self {
        self.in_shell("exec \"$0\" \"$@\" >/dev/full")
    }

    fn in_shell(self, script: &str) -> Self {
        self.wrapped("/bin/sh", &["-c", script])
    }

    pub(crate) fn flag(mut self, name: &str, value: &str) -> Self {
        self.0.args([name, value]);
        self
    }

    pub(crate) fn flags(self, flags: &[(&str, &str)]) -> Self {
        flags.iter().fold(self, |run, (name, value)| run.flag(name, value))
    }

    /// Runs the command on a wide terminal of its own. Standard output is all output of the terminal.
    pub(crate) fn on_terminal(self) -> Self {
        let quoted = |word: &OsStr| format!("'{}'", word.to_str().unwrap());
        let words = iter::once(self.0.get_program()).chain(self.0.get_args()).map(quoted);
        let line = words.collect::<Vec<_>>().join(" ");
        let mut script = Command::new("/usr/bin/script");
        script.env_clear().current_dir(env!("CARGO_TARGET_TMPDIR")).env("TERM", "xterm");
        script.envs(self.0.get_envs().filter_map(|(name, value)| Some((name, value?))));
        let line = format!("stty rows 24 columns 200 -echo; exec {line}");
        script.args(["--quiet", "--return", "--command", &line, "/dev/null"]);
        script.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
        Self(script)
    }

    /// Connects standard input to a pipe.
    pub(crate) fn fed(mut self) -> Self {
        self.0.stdin(Stdio::piped());
        self
    }

    pub(crate) fn spawn(mut self) -> Running {
        spawn(&mut self.0)
    }

    /// Runs the command to its end, at most for [`COMMAND_LIMIT`].
    #[track_caller]
    pub(crate) fn finish(self) -> Finished {
        finish(self.spawn(), "")
    }
}

/// Starts any program.
#[track_caller]
pub(crate) fn spawn(command: &mut Command) -> Running {
    EndOnDrop::new(command.spawn().unwrap())
}

/// Runs any program to its end, at most for [`COMMAND_LIMIT`], without standard input.
#[track_caller]
pub(crate) fn complete(command: &mut Command) -> Finished {
    command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped());
    ended(spawn(command))
}

/// Writes `input` to the standard input of a process if that is a pipe, and waits for the end of the process.
#[track_caller]
pub(crate) fn finish(mut running: Running, input: &str) -> Finished {
    let stdin = running.stdin.take();
    thread::scope(|scope| {
        scope.spawn(move || {
            // The process may end before it has read everything.
            stdin.map(|mut stdin| stdin.write_all(input.as_bytes()))
        });
        ended(running)
    })
}

/// Waits for the end of a process. Its standard input stays open until then.
#[track_caller]
pub(crate) fn ended(mut running: Running) -> Finished {
    let stdout = running.stdout.take().map(collect);
    let stderr = running.stderr.take().map(collect);
    let code = exit(&mut running);
    let [stdout, stderr] =
        [stdout, stderr].map(|text| text.map_or_else(String::new, |text| text.join().unwrap()));
    Finished { code, stdout, stderr }
}

fn collect(mut pipe: impl Read + Send + 'static) -> thread::JoinHandle<String> {
    thread::spawn(move || {
        let mut text = String::new();
        pipe.read_to_string(&mut text).unwrap();
        text
    })
}

/// The time limit for a command: long, because a move under load on a busy machine starts again many times.
const COMMAND_LIMIT: Duration = Duration::from_mins(2);

/// Repeats `work` until a process ends. Returns the number of repetitions, and the output of the process.
#[track_caller]
pub(crate) fn until_ended(mut running: Running, mut work: impl FnMut()) -> (usize, Finished) {
    let (deadline, mut times) = (Instant::now() + COMMAND_LIMIT, 0);
    while running.try_wait().unwrap().is_none() {
        assert!(Instant::now() < deadline, "the command does not end");
        work();
        times += 1;
    }
    (times, ended(running))
}

/// Returns the lines of a pipe. Dropping the iterator closes the pipe. Panics if a line or the end takes longer than
/// [`wait::LIMIT`]. At most one line is read ahead.
pub(crate) fn lines(pipe: impl Read + Send + 'static) -> impl Iterator<Item = String> {
    let (sender, lines) = mpsc::sync_channel(0);
    thread::spawn(move || {
        let mut read = BufReader::new(pipe).lines().map_while(Result::ok);
        while read.next().is_some_and(|line| sender.send(line).is_ok()) {}
    });
    iter::from_fn(move || match lines.recv_timeout(wait::LIMIT) {
        Ok(line) => Some(line),
        Err(RecvTimeoutError::Disconnected) => None,
        Err(RecvTimeoutError::Timeout) => panic!("no line came within {:?}", wait::LIMIT),
    })
}

/// Sends a signal, such as `TERM`.
#[track_caller]
pub(crate) fn signal(child: &Child, name: &str) {
    let status = Command::new("kill").args(["-s", name, &child.id().to_string()]).status();
    assert!(status.unwrap().success());
}

/// Changes a limit of a running process (prlimit(1)).
#[track_caller]
pub(crate) fn prlimit(process: u32, limit: &str) {
    let status = Command::new("prlimit").args(["--pid", &process.to_string(), limit]).status();
    assert!(status.unwrap().success());
}

/// Waits for the end of `child`. Returns its exit code; `None` if a signal ended it.
#[track_caller]
pub(crate) fn exit(child: &mut Child) -> Option<i32> {
    let deadline = Instant::now() + COMMAND_LIMIT;
    loop {
        if let Some(status) = child.try_wait().unwrap() {
            return status.code();
        }
        assert!(Instant::now() < deadline, "the command does not end");
        thread::sleep(Duration::from_millis(5));
    }
}

impl Finished {
    /// Asserts that the exit code is 0. Returns standard output.
    #[track_caller]
    pub(crate) fn succeeds(self) -> String {
        assert_eq!(self.code, Some(0), "{self:?}");
        self.stdout
    }

    /// Asserts that the command ended with `code`, and that its only output is one line of errors that contains `what`.
    #[track_caller]
    pub(crate) fn fails(self, code: i32, what: &str) -> Self {
        assert_eq!(self.code, Some(code), "{what}: {self:?}");
        assert_eq!(self.stderr.lines().count(), 1, "{what}: {self:?}");
        assert!(self.stderr.contains(what), "{what}: {self:?}");
        assert_eq!(self.stdout, "", "{what}: {self:?}");
        self
    }
}
