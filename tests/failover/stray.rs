//! A service that uses only one node of a cluster, even after that node is no longer the leader.

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

/// The number of additions while the node is the leader.
const ENOUGH: usize = 20;

pub(crate) struct Stray {
    load: Load,
    _server: Server,
}

impl Stray {
    /// Starts a service on the leader at `url`, with one writer that never retries.
    pub(crate) fn start(url: &str) -> Self {
        let server = Launch::on(&Store::at(url)).start();
        let load = Load::on(&server.client(), &Journal::new(), Outages::Refuse);
        let mut load = load.writer(false, None);
        load.works(Instant::now(), &[Kind::Add], ENOUGH);
        Self { load, _server: server }
    }

    /// Stops the service and returns its requests. Asserts that no request sent after `deposed` was acknowledged.
    pub(crate) fn stop(mut self, deposed: Instant) -> Arc<Journal> {
        self.load.stop();
        let is_late = |entry: &&Entry| entry.began >= deposed && entry.succeeded();
        let late = self.load.entries().iter().find(is_late).cloned();
        assert!(late.is_none(), "a deposed leader took a write: {late:?}");
        Arc::clone(self.load.journal())
    }
}
