//! The background tasks of a store on a network.

use std::{convert::Infallible, sync::Arc, time::Duration};

use tokio::{task::JoinHandle, time};
use tokio_util::sync::CancellationToken;

use crate::{
    panics::essential,
    version_cache::{StoredVersion, VersionCache, watch},
    writer::{Jobs, Writer, channel},
};

/// The longest time that [`StoreTasks::close`] waits.
const CLOSE_TIMEOUT: Duration = Duration::from_secs(5);

/// The settings of a store on a network besides its URL.
#[derive(Clone, Debug, Default)]
pub struct OpenSettings {
    /// `true` if a missing store is created.
    pub create: bool,
    /// `true` if animals can be read, without a version, while the store is sealed.
    pub reads_while_sealed: bool,
    /// Canceled when the task that writes additions, or the task that reads the version, panics. The program must then
    /// be restarted: without these tasks additions fail, or other instances' changes do not show.
    pub on_task_panic: CancellationToken,
}

/// The writing task of a store and the task that reads the catalogue's version. Dropping this value ends both tasks, so
/// a store must hold the value.
#[derive(Debug)]
pub struct StoreTasks<W = Infallible> {
    /// The queue of the writing task.
    pub writer: Writer<W>,
    /// The cache of the version. `PetRepository::version` returns `version.get()`.
    pub version: Arc<VersionCache>,
    watching: JoinHandle<()>,
}

impl<W> StoreTasks<W> {
    /// Spawns both tasks. A panic of either task cancels `on_panic`, after which the program must restart.
    ///
    /// `write` runs until its [`Jobs`] end. `read` reads the version once, within a bounded time, and returns `None` on
    /// failure. [`channel`] describes `max_group` and `timeout`.
    pub fn spawn<R: Future<Output = Option<StoredVersion>> + Send + 'static, T>(
        on_panic: &CancellationToken,
        version: Arc<VersionCache>,
        (max_group, timeout): (usize, Option<Duration>),
        write: impl FnOnce(Jobs<W>) -> T,
        read: impl Fn() -> R + Send + Sync + 'static,
    ) -> Self
    where
        T: Future<Output = ()> + Send + 'static,
    {
        let (writer, jobs) = channel(max_group, timeout);
        tokio::spawn(essential(on_panic.clone(), write(jobs)));
        let watching = watch(Arc::clone(&version), read);
        let watching = tokio::spawn(essential(on_panic.clone(), watching));
        Self { writer, version, watching }
    }

    /// Refuses new writes, and waits up to 5 seconds for the queued writes. Returns whether these writes are done.
    pub async fn close(&self) -> bool {
        time::timeout(CLOSE_TIMEOUT, self.writer.close()).await.is_ok()
    }
}

impl<W> Drop for StoreTasks<W> {
    fn drop(&mut self) {
        self.watching.abort();
    }
}

#[cfg(test)]
mod tests {
    use std::{future, time::Duration};

    use tokio::{
        sync::oneshot,
        time::{Instant, timeout},
    };
    use tokio_util::sync::CancellationToken;

    use super::StoreTasks;
    use crate::writer::Jobs;

    #[tokio::test]
    async fn a_panic_of_either_task_cancels_the_token() {
        for of_writer in [true, false] {
            let token = CancellationToken::new();
            let write = async move |_: Jobs| {
                assert!(!of_writer, "as planned");
                future::pending::<()>().await;
            };
            let read = move || async move {
                assert!(of_writer, "as planned");
                None
            };
            let tasks: StoreTasks =
                StoreTasks::spawn(&token, <_>::default(), (1, None), write, read);
            tasks.version.get();
            timeout(Duration::from_secs(10), token.cancelled()).await.unwrap();
        }
    }

    /// Sends nothing. The receiver fails when the task that owns the sender has ended.
    type Ends = oneshot::Receiver<()>;

    /// Spawns tasks that run until the store is dropped. If `is_stuck`, the writing task never ends.
    fn spawn(is_stuck: bool) -> (StoreTasks, [Ends; 2]) {
        let (writes, written) = oneshot::channel::<()>();
        let (reads, read_all) = oneshot::channel::<()>();
        let write = async move |mut jobs: Jobs| {
            let _writes = writes;
            while is_stuck || jobs.next(0).await.is_some() {
                future::pending::<()>().await;
            }
        };
        let read = move || {
            let _ = &reads;
            future::ready(None)
        };
        let tasks = StoreTasks::spawn(&<_>::default(), <_>::default(), (1, None), write, read);
        (tasks, [written, read_all])
    }

    #[tokio::test(start_paused = true)]
    async fn a_dropped_store_ends_both_tasks() {
        let (tasks, ends) = spawn(false);
        drop(tasks);
        for end in ends {
            timeout(Duration::from_secs(10), end).await.unwrap().unwrap_err();
        }
    }

    #[tokio::test(start_paused = true)]
    async fn closing_reports_whether_the_queued_writes_are_done() {
        for is_stuck in [false, true] {
            let (tasks, began) = (spawn(is_stuck).0, Instant::now());
            assert_eq!(tasks.close().await, !is_stuck);
            assert_eq!(began.elapsed().as_secs(), if is_stuck { 5 } else { 0 });
        }
    }
}
