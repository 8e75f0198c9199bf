//! Runs the program, and calls the service.

use std::{
    fs,
    io::{BufRead as _, BufReader, Read as _, Write as _},
    net::TcpStream,
    path::PathBuf,
    process::{Child, Command, ExitStatus, Stdio},
    sync::{Mutex, PoisonError, mpsc},
    thread,
    time::{Duration, Instant},
};

use tempfile::TempDir;

/// Time limit for a call or a command.
const CALL_TIMEOUT: Duration = Duration::from_mins(1);

/// Held while a process starts. For a moment, the new process has the locks of this process's open files.
pub(crate) static STARTING: Mutex<()> = Mutex::new(());

fn start(command: &mut Command) -> Child {
    let _starting = STARTING.lock().unwrap_or_else(PoisonError::into_inner);
    command.spawn().unwrap()
}

/// A folder in which a program runs, removed afterwards.
pub(crate) struct Folder {
    directory: TempDir,
    program: &'static str,
}

impl Folder {
    pub(crate) fn new(program: &'static str) -> Self {
        Self { directory: TempDir::new().unwrap(), program }
    }

    pub(crate) fn path(&self, name: &str) -> PathBuf {
        self.directory.path().join(name)
    }

    pub(crate) fn write(&self, name: &str, text: &str) {
        fs::write(self.path(name), text).unwrap();
    }

    /// Runs a command to its end.
    pub(crate) fn run(&self, args: &[&str]) -> Finished {
        let mut command = self.command(args);
        let mut process = start(command.stdout(Stdio::piped()).stderr(Stdio::piped()));
        end_of(&mut process);
        let output = process.wait_with_output().unwrap();
        let text = |bytes| String::from_utf8(bytes).unwrap();
        let (stdout, stderr) = (text(output.stdout), text(output.stderr));
        Finished { code: output.status.code(), stdout, stderr }
    }

    fn command(&self, args: &[&str]) -> Command {
        let mut command = Command::new(self.program);
        command.env_clear().current_dir(&self.directory).args(args).stdin(Stdio::null());
        command
    }
}

/// The output and status of a command.
#[derive(Debug)]
pub(crate) struct Finished {
    code: Option<i32>,
    stdout: String,
    stderr: String,
}

impl Finished {
    /// Returns the output of a command that succeeded.
    #[track_caller]
    pub(crate) fn succeeds(self) -> String {
        assert_eq!(self.code, Some(0), "{self:?}");
        self.stdout
    }

    /// Asserts that the command failed with this code and printed one line of error.
    #[track_caller]
    pub(crate) fn fails(self, code: i32, reason: &str) {
        assert_eq!(self.code, Some(code), "{self:?}");
        assert!(self.stderr.contains(reason), "{self:?}");
        assert_eq!(self.stderr.lines().count(), 1, "{self:?}");
    }
}

/// A running service.
pub(crate) struct Service {
    process: Child,
    address: String,
}

impl Service {
    pub(crate) fn start(folder: &Folder, url: &str) -> Self {
        let mut command = folder.command(&["serve", "--store", url, "--listen", "127.0.0.1:0"]);
        let process = start(command.stdout(Stdio::piped()).stderr(Stdio::null()));
        let mut service = Self { process, address: String::new() };
        let output = BufReader::new(service.process.stdout.take().unwrap());
        let (sender, lines) = mpsc::channel();
        thread::spawn(move || {
            output.lines().map_while(Result::ok).try_for_each(|line| sender.send(line))
        });
        while service.address.is_empty() {
            let line = lines.recv_timeout(CALL_TIMEOUT).unwrap();
            let address = line.strip_prefix("petstore listens on http://");
            address.unwrap_or_default().clone_into(&mut service.address);
        }
        service
    }

    /// Returns the whole answer to a GET.
    pub(crate) fn get(&self, key: &str, path: &str) -> String {
        self.call(&format!("GET {path} HTTP/1.1\r\nAuthorization: Bearer {key}\r\n"), "")
    }

    /// Returns the whole answer to the addition of an animal.
    pub(crate) fn post(&self, key: &str, pet: &str) -> String {
        let length = pet.len();
        let head = format!(
            "POST /v1/pets HTTP/1.1\r\nAuthorization: Bearer {key}\r\n\
             Content-Type: application/json\r\nContent-Length: {length}\r\n"
        );
        self.call(&head, pet)
    }

    fn call(&self, head: &str, body: &str) -> String {
        let mut stream = TcpStream::connect(&self.address).unwrap();
        stream.set_read_timeout(Some(CALL_TIMEOUT)).unwrap();
        let address = &self.address;
        write!(stream, "{head}Host: {address}\r\nConnection: close\r\n\r\n{body}").unwrap();
        let mut answer = String::new();
        stream.read_to_string(&mut answer).unwrap();
        answer
    }

    /// Asks the service to stop, which it does with exit code 0.
    pub(crate) fn stop(mut self) {
        let kill = format!("kill -TERM {}", self.process.id());
        let mut killing = start(Command::new("/bin/sh").args(["-c", &kill]));
        assert!(killing.wait().unwrap().success());
        assert_eq!(end_of(&mut self.process).code(), Some(0));
    }
}

/// Waits for the end of a process, and kills a process that does not end in time.
fn end_of(process: &mut Child) -> ExitStatus {
    let began = Instant::now();
    loop {
        if let Some(status) = process.try_wait().unwrap() {
            return status;
        }
        if began.elapsed() > CALL_TIMEOUT {
            process.kill().unwrap();
        }
        thread::sleep(Duration::from_millis(5));
    }
}

impl Drop for Service {
    fn drop(&mut self) {
        let _ = self.process.kill();
        let _ = self.process.wait();
    }
}
