//! Catalogues of several sizes: made once, and copied for each service that is asked.

use tempfile::TempDir;

use super::places::Places;
use crate::{
    bench::Bench, catalogue::Seed, client::Client, console::note, failure::Outcome, server::Server,
};

/// A catalogue of one size, and where its pages begin.
#[derive(Debug)]
pub(crate) struct Catalogue {
    pub(super) seed: Seed,
    pub(super) places: Places,
    /// The seed's; it is removed with the value.
    _folder: TempDir,
}

impl Catalogue {
    /// Makes one. The walk that finds the places has a service and a copy to itself, and leaves no
    /// trace in those that are measured.
    pub(crate) fn make(bench: &Bench, animals: u64) -> Outcome<Self> {
        let folder = bench.fresh_folder()?;
        let seed = Seed::make(&bench.binary, folder.path(), animals)?;
        let copy = bench.fresh_folder()?;
        let store = seed.copy_to(copy.path())?.url();
        let server = Server::petstore(&bench.binary, &store, &copy.path().join("log"))?;
        note(format_args!("walking along the pages of {animals} animals"));
        let places = Places::find(&mut Client::connect(server.address)?, animals)?;
        Ok(Self { seed, places, _folder: folder })
    }

    pub(super) const fn animals(&self) -> u64 {
        self.seed.animals
    }
}
