//! The store: a thread that writes the file, and its content in memory for reads.

use std::{
    fmt, io,
    path::Path,
    sync::{Arc, PoisonError, RwLock, RwLockReadGuard},
    thread::{self, JoinHandle},
};

use petstore_domain::{CatalogueVersion, StoreError};
use petstore_storage::{
    PanicGuard,
    writer::{Add, Answers, Job, Jobs, Reply, Writer, channel},
};
use tokio_util::sync::CancellationToken;

use crate::{
    journal::{Access, Journal},
    pets,
    state::{Draft, State},
};

/// The largest number of writes that share one wait for the disk.
const MAX_GROUP: usize = 256;

/// A write other than an addition. It returns the function that answers the caller once the group is on the disk.
type Work = Box<dyn FnOnce(&mut Draft) -> Answer + Send>;

type Answer = Box<dyn FnOnce(Result<(), StoreError>) + Send>;

/// A catalogue and its API keys in one file. One process at a time writes to it.
pub struct FileStore {
    /// The content of the file, in memory, so that reads do not wait for the disk.
    state: Arc<RwLock<State>>,
    /// `None` if the store was opened only to read.
    writing: Option<Writing>,
    reads_while_sealed: bool,
}

struct Writing {
    // The fields are dropped in this order: the thread ends when the queue is closed and empty.
    queue: Writer<Work>,
    _thread: JoinOnDrop,
}

/// Waits until the thread has ended, so that the file is free when the store is closed.
struct JoinOnDrop(Option<JoinHandle<()>>);

impl Drop for JoinOnDrop {
    fn drop(&mut self) {
        let _ = self.0.take().map(JoinHandle::join);
    }
}

impl FileStore {
    /// Opens the store in the file `path`. A panic of the writing thread cancels `on_panic`.
    ///
    /// # Errors
    /// [`StoreError::Unavailable`] if the disk fails, or while another process has the file open, unless both only
    /// read; [`StoreError::Corrupt`] if a line cannot be read.
    pub fn open(
        path: &Path,
        access: Access,
        reads_while_sealed: bool,
        on_panic: &CancellationToken,
    ) -> Result<Self, StoreError> {
        let (journal, state) = Journal::open(path, access)?;
        let state = Arc::new(RwLock::new(state));
        let writing = match access {
            Access::Read => None,
            Access::Write | Access::Create => {
                let (queue, jobs) = channel(MAX_GROUP, None);
                let (shared, guard) = (Arc::clone(&state), PanicGuard(on_panic.clone()));
                let thread = thread::Builder::new().name("file-writer".to_owned());
                let thread = thread.spawn(move || {
                    let _guard = guard;
                    run(jobs, journal, &shared);
                });
                let thread = thread.map_err(StoreError::unavailable)?;
                Some(Writing { queue, _thread: JoinOnDrop(Some(thread)) })
            }
        };
        Ok(Self { state, writing, reads_while_sealed })
    }

    pub(crate) fn state(&self) -> RwLockReadGuard<'_, State> {
        self.state.read().unwrap_or_else(PoisonError::into_inner)
    }

    /// Returns the state for a read of animals, and its version.
    pub(crate) fn readable(
        &self,
    ) -> Result<(RwLockReadGuard<'_, State>, Option<CatalogueVersion>), StoreError> {
        let state = self.state();
        let has_version = state.handover.permit_read(self.reads_while_sealed)?;
        let version = has_version.then_some(state.version);
        Ok((state, version))
    }

    /// Returns the queue of writes.
    pub(crate) fn writer(&self) -> Result<&Writer<Work>, StoreError> {
        let writing = self.writing.as_ref();
        let refused = || StoreError::refused("the store was opened only to read");
        writing.map(|writing| &writing.queue).ok_or_else(refused)
    }

    /// Runs `work` on the writing thread, and returns its result once the writes are on the disk. If the future is
    /// dropped, `work` still runs whole, unless the future was never polled.
    pub(crate) async fn write<T: Send + 'static, E: From<StoreError> + Send + 'static>(
        &self,
        work: impl FnOnce(&mut Draft) -> Result<T, E> + Send + 'static,
    ) -> Result<T, E> {
        let write = |reply: Reply<T, E>| -> Work {
            Box::new(|draft| {
                let result = work(draft);
                Box::new(|written| {
                    reply.send(result.and_then(|value| Ok(written.map(|()| value)?)));
                })
            })
        };
        self.writer()?.run(write).await
    }
}

/// Writes group by group, until the store is closed.
fn run(mut jobs: Jobs<Work>, mut journal: Journal, shared: &RwLock<State>) {
    let read = || shared.read().unwrap_or_else(PoisonError::into_inner).clone();
    let mut state = read();
    while let Some(group) = jobs.blocking_next(0) {
        let (random, drawn) = random().map_or_else(|error| (0, Err(error)), |it| (it, Ok(())));
        let mut draft = Draft::new(state, random);
        let (mut added, mut others) = (Vec::new(), Vec::new());
        for job in group {
            match job {
                Job::Add(Add { pet, request, reply }) => {
                    added.push((reply, pets::add(&mut draft, pet, request)));
                }
                Job::Other(work) => others.push(work(&mut draft)),
            }
        }
        let written = drawn.and_then(|()| journal.append(&draft.group));
        let failure = written.err().map(|error| error.to_string());
        if failure.is_none() {
            shared.write().unwrap_or_else(PoisonError::into_inner).apply(draft.group);
            state = draft.state;
        } else {
            state = read();
        }
        // Each caller gets a copy of the failure.
        let committed = || failure.clone().map_or(Ok(()), |it| Err(StoreError::unavailable(it)));
        let mut answers = Answers::default();
        for (reply, result) in added {
            let result = result.and_then(|added| Ok(committed().map(|()| added)?));
            answers.add(reply, result);
        }
        answers.send();
        for answer in others {
            answer(committed());
        }
    }
}

/// Draws a random number: the identity of a store, or the version and the key revision that a group sets.
pub(crate) fn random() -> io::Result<u128> {
    let mut bytes = [0; 16];
    getrandom::fill(&mut bytes).map_err(io::Error::other)?;
    Ok(u128::from_ne_bytes(bytes))
}

impl fmt::Debug for FileStore {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("FileStore").finish_non_exhaustive()
    }
}
