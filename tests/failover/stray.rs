//! A service that knows one node of a cluster alone, and goes on when that is not the leader any more.

use std::{sync::Arc, time::Instant};

use crate::{
    load::{
        Load, Outages,
        journal::{Entry, Journal, Kind},
    },
    support::{
        server::{Launch, Server},
        store::Store,
    },
};

/// Additions that it makes while its node is the leader.
const ENOUGH: usize = 20;

pub(crate) struct Stray {
    load: Load,
    _server: Server,
}

impl Stray {
    /// Starts it on the node at `url`, which is the leader. Its writer does not try again what it has no answer to.
    pub(crate) fn start(url: &str) -> Self {
        let server = Launch::on(&Store::at(url)).start();
        let load = Load::on(&server.client(), &Journal::new(), Outages::Refuse);
        let mut load = load.writer(false, None);
        load.works(Instant::now(), &[Kind::Add], ENOUGH);
        Self { load, _server: server }
    }

    /// Stops it; what it tried. Holds that nothing was acknowledged that was sent after its node had
    /// been `deposed`.
    pub(crate) fn stop(mut self, deposed: Instant) -> Arc<Journal> {
        self.load.stop();
        let is_late = |entry: &&Entry| entry.began >= deposed && entry.succeeded();
        let late = self.load.entries().iter().find(is_late).cloned();
        assert!(late.is_none(), "a deposed leader took a write: {late:?}");
        Arc::clone(self.load.journal())
    }
}
