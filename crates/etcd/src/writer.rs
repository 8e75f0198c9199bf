//! Additions: one task, one transaction at a time, group commit.
//!
//! What waits while a transaction is under way shares the next one, as far as [`MAX_OPS`] allows.

mod group;

#[cfg(test)]
mod tests;

use std::{collections::VecDeque, fmt, sync::Arc, time::Duration};

use petstore_domain::{AddError, Added, Corruption, IdempotencyRequest, NewPet};
use tokio::{
    sync::{
        mpsc::{self, error::TrySendError},
        oneshot,
    },
    time::{self, Instant},
};
use tokio_util::sync::CancellationToken;

use self::group::{Job, Outcome};
use crate::{
    core::{Core, HEAD_OPS, MAX_OPS},
    error::Failure,
    kv::Range,
    rows::StoredPet,
};

/// Additions that may wait; one more is refused at once.
const MAX_QUEUE: usize = 4096;
/// Additions in one transaction, at most: each is an operation at least, and reads a record if the transaction fails.
const MAX_GROUP: usize = MAX_OPS - HEAD_OPS;

/// The handle of the writing task. The task ends when this is dropped and nothing waits any more.
pub(crate) struct Writer {
    queue: mpsc::Sender<Job>,
    closing: CancellationToken,
    /// Canceled when the task has ended.
    ended: CancellationToken,
    timeout: Duration,
}

impl Writer {
    /// Returns the handle, and the task to spawn.
    pub(crate) fn new(core: Arc<Core>) -> (Self, impl Future<Output = ()> + Send + 'static) {
        let (queue, waiting) = mpsc::channel(MAX_QUEUE);
        let timeout = core.client.call_timeout();
        let (closing, ended) = (CancellationToken::new(), CancellationToken::new());
        let (until, guard) = (closing.clone(), ended.clone().drop_guard());
        let task = async move {
            let _guard = guard;
            run(&core, waiting, until).await;
        };
        (Self { queue, closing, ended, timeout }, task)
    }

    /// Adds an animal, and answers when that is committed.
    ///
    /// From the first poll on it is done whole or not at all, whether or not the future is polled
    /// again.
    pub(crate) async fn add(
        &self,
        pet: NewPet,
        request: Option<IdempotencyRequest>,
    ) -> Result<Added, AddError> {
        let (caller, answer) = oneshot::channel();
        let deadline = Instant::now() + self.timeout;
        let job = Job { pet, request, deadline, caller };
        self.queue.try_send(job).map_err(|refusal| match refusal {
            TrySendError::Full(_) => Failure::QueueFull(MAX_QUEUE),
            TrySendError::Closed(_) => Failure::Stopped,
        })?;
        match time::timeout_at(deadline, answer).await {
            Ok(answer) => answer.unwrap_or_else(|_| Err(Failure::Stopped.into())),
            Err(_) => Err(Failure::Deadline(self.timeout).into()),
        }
    }

    /// Returns how many additions wait for a transaction.
    pub(crate) fn waiting(&self) -> usize {
        self.queue.max_capacity() - self.queue.capacity()
    }

    /// Takes no more additions, and returns when those that wait are done.
    pub(crate) async fn close(&self) {
        self.closing.cancel();
        self.ended.cancelled().await;
    }
}

impl fmt::Debug for Writer {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Writer").finish_non_exhaustive()
    }
}

/// The writing task. It never ends because something failed.
async fn run(core: &Core, mut waiting: mpsc::Receiver<Job>, closing: CancellationToken) {
    let mut jobs: VecDeque<Job> = VecDeque::new();
    let mut received = Vec::new();
    loop {
        while jobs.is_empty() && received.is_empty() {
            tokio::select! {
                () = closing.cancelled(), if !waiting.is_closed() => waiting.close(),
                received = waiting.recv_many(&mut received, MAX_GROUP) => {
                    if received == 0 {
                        return;
                    }
                }
            }
        }
        jobs.extend(received.drain(..));
        while jobs.len() < MAX_GROUP
            && let Ok(job) = waiting.try_recv()
        {
            jobs.push_back(job);
        }
        // Their callers have been answered already; what has not begun does not begin any more.
        jobs.retain(|job| job.deadline > Instant::now());
        if !jobs.is_empty() {
            write(core, &mut jobs).await;
        }
    }
}

/// Writes as many of the first additions as one transaction takes, and answers them.
async fn write(core: &Core, jobs: &mut VecDeque<Job>) {
    let requests = jobs.iter().take(MAX_GROUP).filter_map(|job| job.request);
    let records: Vec<String> = requests.map(|request| core.keys.record(&request.id)).collect();
    let ranges: Vec<Range> = records.iter().map(|key| Range::one(key)).collect();
    let group = &*jobs;
    let written = core.commit(&ranges, Some(&records), |view, name| {
        group::plan(&core.keys, group.iter().take(MAX_GROUP), view, name)
    });
    match written.await {
        Ok(outcomes) => answer(core, jobs.drain(..outcomes.len()).collect(), outcomes).await,
        Err(failure) => {
            for job in jobs.drain(..MAX_GROUP.min(jobs.len())) {
                job.answer(Err(failure.clone().into()));
            }
        }
    }
}

/// Returns an addition's outcome, where it is known without a read.
async fn answer(core: &Core, jobs: Vec<Job>, outcomes: Vec<Outcome>) {
    let mut replays = Vec::new();
    for (job, outcome) in jobs.into_iter().zip(outcomes) {
        match outcome {
            Outcome::Added(added) => job.answer(Ok(added)),
            Outcome::Reused => job.answer(Err(AddError::IdempotencyKeyReused)),
            Outcome::Failed(failure) => job.answer(Err(failure.into())),
            Outcome::Replay(id) => replays.push((job, id)),
        }
    }
    if replays.is_empty() {
        return;
    }
    let keys: Vec<_> = replays.iter().map(|(_, id)| core.keys.pet(None, *id)).collect();
    match core.read_each(&keys, 0).await {
        Ok(found) => {
            for ((job, id), entry) in replays.into_iter().zip(found) {
                let what = format_args!("an idempotency record of animal {id}");
                let missing = Corruption::new(what, "it exists");
                let stored = entry.ok_or(missing).and_then(|entry| StoredPet::from_entry(&entry));
                let replayed = stored.map(|stored| Added::Replayed(stored.pet));
                job.answer(replayed.map_err(|corruption| Failure::from(corruption).into()));
            }
        }
        Err(failure) => {
            for (job, _) in replays {
                job.answer(Err(failure.clone().into()));
            }
        }
    }
}
