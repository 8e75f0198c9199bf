//! The program that drives the browser.

use std::{
    os::unix::process::CommandExt as _,
    process::{Command, Stdio},
};

use petstore_testing::{find_program, free_port};

use super::{
    command::{Running, spawn},
    server::follow,
    wait,
};

/// A running chromedriver on a port of its own. Dropping the value ends the program.
pub(crate) struct Chromedriver {
    child: Running,
    pub(crate) url: String,
}

impl Chromedriver {
    /// Starts chromedriver on a port that is free for IPv4 and IPv6. With port 0, chromedriver chooses an IPv6 port,
    /// and ends if the same IPv4 port is in use.
    #[track_caller]
    pub(crate) fn start() -> Self {
        let port = free_port().unwrap();
        let mut command = Command::new(find_program("chromedriver").unwrap());
        command.arg(format!("--port={port}"));
        // The browser joins the process group, so one signal ends both.
        command.process_group(0).stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::null());
        let mut child = spawn(&mut command);
        // A driver would block on a full pipe if its output were not read.
        let said = follow(child.stdout.take().unwrap());
        wait::until("chromedriver starts", || {
            let ended = child.try_wait().unwrap();
            assert!(ended.is_none(), "chromedriver on port {port}: {}", said.so_far());
            said.so_far().contains("started successfully")
        });
        Self { child, url: format!("http://127.0.0.1:{port}") }
    }

    pub(crate) fn pid(&self) -> u32 {
        self.child.id()
    }
}
