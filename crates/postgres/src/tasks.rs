//! Tasks that a store cannot go on without.

use std::thread;

use tokio::task::JoinHandle;
use tokio_util::sync::CancellationToken;

/// Spawns a task that lives as long as the store does. `on_panic` is canceled if the task panics; not if it ends, is
/// aborted, or goes with the runtime.
pub(crate) fn spawn_essential(
    on_panic: &CancellationToken,
    task: impl Future<Output = ()> + Send + 'static,
) -> JoinHandle<()> {
    let guard = PanicGuard(on_panic.clone());
    tokio::spawn(async move {
        let _guard = guard;
        task.await;
    })
}

/// Cancels its token if a panic drops it.
struct PanicGuard(CancellationToken);

impl Drop for PanicGuard {
    fn drop(&mut self) {
        if thread::panicking() {
            self.0.cancel();
        }
    }
}

#[cfg(test)]
mod tests {
    use std::future;

    use tokio_util::sync::CancellationToken;

    use super::spawn_essential;

    #[tokio::test]
    async fn a_task_that_panics_cancels_the_token() {
        let token = CancellationToken::new();
        let task = spawn_essential(&token, async { panic!("as asked") });
        token.cancelled().await;
        assert!(task.await.unwrap_err().is_panic());
    }

    #[tokio::test]
    async fn a_task_that_ends_or_is_aborted_does_not() {
        let token = CancellationToken::new();
        spawn_essential(&token, async {}).await.unwrap();
        let task = spawn_essential(&token, future::pending());
        tokio::task::yield_now().await;
        task.abort();
        assert!(task.await.unwrap_err().is_cancelled());
        // It has not begun.
        let task = spawn_essential(&token, future::pending());
        task.abort();
        assert!(task.await.unwrap_err().is_cancelled());
        assert!(!token.is_cancelled());
    }
}
