//! The store: a file for writes, and what it holds in memory for reads.

use std::{
    fmt, io,
    path::Path,
    sync::{Arc, Mutex, PoisonError, RwLock, RwLockReadGuard},
};

use petstore_domain::StoreError;

use crate::{journal::Journal, line::Line, state::State};

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
    /// The file cannot be opened, another process has it open, or a line of it cannot be understood.
    pub fn open(path: &Path) -> io::Result<Self> {
        let (journal, state) = Journal::open(path)?;
        let (journal, state) = (Mutex::new(journal), RwLock::new(state));
        Ok(Self(Arc::new(Inner { journal, state })))
    }

    pub(crate) fn state(&self) -> RwLockReadGuard<'_, State> {
        self.0.state.read().unwrap_or_else(PoisonError::into_inner)
    }

    /// Lets `decide` look at the state, and writes the line that it asks for, if any. Its answer is
    /// returned when the line is on the disk.
    ///
    /// It runs on a thread that may wait, and to its end even if its caller has gone away: so a
    /// dropped future happens whole, or not at all if it was never polled.
    pub(crate) async fn write<T: Send + 'static, E: From<StoreError> + Send + 'static>(
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
            state.apply(line).map_err(StoreError::from)?;
        }
        Ok(answer)
    }
}

impl fmt::Debug for FileStore {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("FileStore").finish_non_exhaustive()
    }
}
