//! The program that drives the browser.

use std::{
    env,
    io::{BufRead, BufReader},
    path::PathBuf,
    process::{Child, Command, Stdio},
    thread,
};

/// A running chromedriver, on a port of its own; it ends with the value.
pub(crate) struct Chromedriver {
    child: Child,
    pub(crate) url: String,
}

impl Chromedriver {
    /// Starts it; the reason if it, or the browser, is not installed.
    pub(crate) fn start() -> Result<Self, String> {
        let program = on_path("chromedriver")?;
        on_path("chromium")?;
        let mut command = Command::new(program);
        command.arg("--port=0").stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::null());
        let mut child = command.spawn().map_err(|error| format!("chromedriver: {error}"))?;
        let mut lines = BufReader::new(child.stdout.take().unwrap()).lines();
        let port = lines.find_map(|line| port_in(&line.ok()?));
        // A driver that nobody listens to would stop at a full pipe.
        thread::spawn(move || lines.for_each(drop));
        let port = port.ok_or("chromedriver ended without a port")?;
        Ok(Self { child, url: format!("http://127.0.0.1:{port}") })
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
    let path = env::var_os("PATH").unwrap_or_default();
    let mut places = env::split_paths(&path).map(|folder| folder.join(program));
    places.find(|place| place.is_file()).ok_or(format!("there is no {program} on the PATH"))
}

/// The port in `ChromeDriver was started successfully on port 37251.`
fn port_in(line: &str) -> Option<u16> {
    let (_, port) = line.split_once("started successfully on port ")?;
    port.trim_end().strip_suffix('.')?.parse().ok()
}
