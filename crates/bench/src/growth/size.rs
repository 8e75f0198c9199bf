//! A service with a catalogue of one size, and what was measured on it.

use std::time::Instant;

use tempfile::TempDir;

use super::{Catalogue, Setting};
use crate::{
    bench::Bench,
    catalogue::Seed,
    check::spot_check,
    client::Client,
    failure::Outcome,
    rounds::Rounds,
    server::{self, Server},
    workload::hot,
};

#[derive(Debug)]
pub(super) struct Size<'a> {
    pub(super) catalogue: &'a Catalogue,
    pub(super) server: Server,
    /// The copy of the catalogue that the service has.
    pub(super) store: Seed,
    /// From the start to the first answer, in milliseconds.
    pub(super) start_ms: f64,
    /// For each question.
    pub(super) answers: Vec<Rounds>,
    /// The file and the log; they are removed with the value.
    _folder: TempDir,
}

impl<'a> Size<'a> {
    /// Starts the service on a copy of the catalogue.
    pub(super) fn start(
        bench: &Bench,
        catalogue: &'a Catalogue,
        setting: &Setting,
    ) -> Outcome<Self> {
        let folder = bench.fresh_folder()?;
        let store = catalogue.seed.copy_to(folder.path())?;
        let mut command = server::serve(&bench.binary, &store.url());
        command.args(setting.arguments);
        let began = Instant::now();
        let server = Server::start(&mut command, &folder.path().join("log"))?;
        spot_check(&mut Client::connect(server.address)?, &[hot()])?;
        let start_ms = began.elapsed().as_secs_f64() * 1e3;
        Ok(Self { catalogue, server, store, start_ms, answers: Vec::new(), _folder: folder })
    }
}
