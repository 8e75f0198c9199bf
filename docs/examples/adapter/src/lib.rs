//! The worked example of `docs/ADAPTERS.md`: petstore's storage ports on one append-only file.
//!
//! Every write is one line of JSON at the end of the file, and is acknowledged when the disk has
//! it. Opening the store reads all lines again into memory, where every read is answered. So it is
//! small and durable, and meant for catalogues that fit into memory; the file only grows.
//!
//! # Where things are
//! `pets.rs`, `keys.rs` and `archive.rs` are the ports; they decide what a write comes to. `journal.rs` is the
//! file, `line.rs` what a line says, and `state.rs` what all lines say together.

mod archive;
mod journal;
mod keys;
mod line;
mod pets;
mod state;

use std::{
    fmt, io,
    path::Path,
    sync::{Arc, Mutex, PoisonError, RwLock, RwLockReadGuard},
};

use petstore_domain::StoreError;

use self::{journal::Journal, line::Line, state::State};

/// A catalogue and its API keys in one file. One process at a time has it open.
#[derive(Clone)]
pub struct FileStore(Arc<Inner>);

struct Inner {
    /// Locked for the whole of a write: writes come one after the other.
    journal: Mutex<Journal>,
    /// Written while `journal` is locked, and only what the disk has. Reads wait for no disk.
    state: RwLock<State>,
}

impl FileStore {
    /// Opens the store in the file `path`, or makes it.
    ///
    /// # Errors
    /// The file cannot be opened, somebody else has it open, or a line of it cannot be understood.
    pub fn open(path: &Path) -> io::Result<Self> {
        let (journal, state) = Journal::open(path)?;
        let (journal, state) = (Mutex::new(journal), RwLock::new(state));
        Ok(Self(Arc::new(Inner { journal, state })))
    }

    fn state(&self) -> RwLockReadGuard<'_, State> {
        self.0.state.read().unwrap_or_else(PoisonError::into_inner)
    }

    /// Lets `decide` look at the state, and writes the line that it asks for, if any. What it
    /// answers is returned when the line is on the disk.
    ///
    /// It runs on a thread that may wait, and to its end even if nobody waits for it any more: so a
    /// dropped future happens whole, or not at all if it was never polled.
    async fn write<T: Send + 'static, E: From<StoreError> + Send + 'static>(
        &self,
        decide: impl FnOnce(&State) -> Result<(T, Option<Line>), E> + Send + 'static,
    ) -> Result<T, E> {
        let store = self.clone();
        let work = tokio::task::spawn_blocking(move || store.write_now(decide));
        work.await.unwrap_or_else(|error| Err(StoreError::unavailable(error).into()))
    }

    fn write_now<T, E: From<StoreError>>(
        &self,
        decide: impl FnOnce(&State) -> Result<(T, Option<Line>), E>,
    ) -> Result<T, E> {
        let mut journal = self.0.journal.lock().unwrap_or_else(PoisonError::into_inner);
        let (answer, line) = decide(&self.state())?;
        if let Some(line) = line {
            journal.append(&line).map_err(StoreError::unavailable)?;
            let mut state = self.0.state.write().unwrap_or_else(PoisonError::into_inner);
            state.apply(line).map_err(StoreError::unavailable)?;
        }
        Ok(answer)
    }
}

impl fmt::Debug for FileStore {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("FileStore").finish_non_exhaustive()
    }
}
