//! Outages of a server: an immediate stop, and a freeze.

use std::fs;

use crate::{binaries::run, cluster::Cluster, processes};

impl Cluster {
    /// Stops the server immediately: connections break, and the next start runs crash recovery.
    ///
    /// # Errors
    /// The server does not stop.
    pub fn stop_at_once(&self) -> Result<(), String> {
        run(self.pg_ctl()?.args(["-m", "immediate", "stop"])).map(drop)
    }

    /// Halts every process of the server. Connections stay open, and the server does not respond.
    ///
    /// # Errors
    /// The server does not run.
    pub fn freeze(&self) -> Result<(), String> {
        self.signal_all("STOP")
    }

    /// Ends [`Self::freeze`].
    ///
    /// # Errors
    /// The server does not run.
    pub fn thaw(&self) -> Result<(), String> {
        self.signal_all("CONT")
    }

    fn signal_all(&self, signal: &str) -> Result<(), String> {
        let file = fs::read_to_string(self.home().join("data/postmaster.pid"));
        let file = file.map_err(|error| format!("the server does not run: {error}"))?;
        let parent = file.lines().next().unwrap_or_default().to_owned();
        // Signals the parent first, because a stopped parent starts no more children.
        processes::send(signal, std::slice::from_ref(&parent))?;
        // A child may have ended already.
        let _ = processes::send(signal, &processes::children_of(&parent));
        Ok(())
    }
}
