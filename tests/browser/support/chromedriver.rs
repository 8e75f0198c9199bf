//! The program that drives the browser.

use std::{
    io::{BufRead, BufReader},
    os::unix::process::CommandExt as _,
    path::PathBuf,
    process::{Child, Command, Stdio},
    thread,
};

use petstore_testing::{find_program, free_port};

/// A running chromedriver, on a port of its own; it ends with the value.
pub(crate) struct Chromedriver {
    child: Child,
    pub(crate) url: String,
}

impl Chromedriver {
    /// Where it is; the reason if it, or the browser, is not installed.
    pub(crate) fn installed() -> Result<PathBuf, String> {
        on_path("chromium")?;
        on_path("chromedriver")
    }

    /// Starts it. A port of the kernel's choice would not do: it takes one of IPv6, and ends if the
    /// same one of IPv4 is in use.
    #[track_caller]
    pub(crate) fn start(program: PathBuf) -> Self {
        let port = free_port().unwrap();
        let mut command = Command::new(program);
        command.arg(format!("--port={port}"));
        // The browser is in its group, by which both can be ended.
        command.process_group(0).stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::null());
        let mut child = command.spawn().unwrap();
        let mut lines = BufReader::new(child.stdout.take().unwrap()).lines().map_while(Result::ok);
        let mut said = Vec::new();
        let mut heard = lines.by_ref().inspect(|line| said.push(line.clone()));
        let started = heard.any(|line| line.contains("started successfully"));
        assert!(started, "chromedriver on port {port}: {}", said.join("; "));
        // A driver whose output is not read would stop at a full pipe.
        thread::spawn(move || lines.for_each(drop));
        Self { child, url: format!("http://127.0.0.1:{port}") }
    }

    pub(crate) fn pid(&self) -> u32 {
        self.child.id()
    }
}

impl Drop for Chromedriver {
    fn drop(&mut self) {
        // It may have ended already.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// Where a program of this name is.
pub(crate) fn on_path(program: &str) -> Result<PathBuf, String> {
    find_program(program).ok_or(format!("there is no {program}"))
}
