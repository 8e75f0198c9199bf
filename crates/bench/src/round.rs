//! A round of load on one server.

use anyhow::Result;

use crate::{
    generator::{Load, Tally, Target},
    h2load, procfs,
    server::Server,
    wrk,
};

/// A server and its load.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Side<'a> {
    pub(crate) server: &'a Server,
    pub(crate) load: &'a Load,
}

/// The measurements of one round.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Round {
    pub(crate) tally: Tally,
    /// Processor time of the server, in seconds.
    pub(crate) cpu: f64,
}

impl Side<'_> {
    /// Runs one round. `target` must have the address of this server.
    pub(crate) fn measure(&self, target: Target) -> Result<Round> {
        let before = procfs::cpu(self.server.pid())?;
        let tally = if self.load.http2 {
            h2load::run(self.load, target)?
        } else {
            wrk::run(self.load, target)?
        };
        let cpu = procfs::cpu(self.server.pid())? - before;
        tally.verify()?;
        Ok(Round { tally, cpu })
    }
}

impl Round {
    pub(crate) fn per_second(&self) -> f64 {
        self.tally.requests as f64 / self.tally.seconds
    }

    /// Returns the processor time of the server per request, in microseconds. A shorter time than one tick counts as
    /// one tick.
    pub(crate) fn cpu_per_request(&self) -> f64 {
        self.cpu.max(0.01) * 1e6 / self.tally.requests as f64
    }
}
