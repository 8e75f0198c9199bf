//! A signal to the program that a thread or a task of a store has panicked.

use std::thread;

use tokio_util::sync::CancellationToken;

/// Cancels its token if the guard is dropped by a panic. A thread or a task that the store needs holds the guard. A
/// task that ends or is aborted does not cancel the token.
#[derive(Debug)]
pub struct PanicGuard(pub CancellationToken);

impl Drop for PanicGuard {
    fn drop(&mut self) {
        if thread::panicking() {
            self.0.cancel();
        }
    }
}

/// Runs a task that the store needs. Cancels `on_panic` if the task panics.
pub(crate) async fn essential(on_panic: CancellationToken, task: impl Future<Output = ()>) {
    let _guard = PanicGuard(on_panic);
    task.await;
}

#[cfg(test)]
mod tests {
    use std::future;

    use tokio_util::sync::CancellationToken;

    use super::essential;

    #[tokio::test]
    async fn the_end_or_abort_of_a_task_does_not_cancel_the_token() {
        let token = CancellationToken::new();
        tokio::spawn(essential(token.clone(), async {})).await.unwrap();
        let task = tokio::spawn(essential(token.clone(), future::pending()));
        tokio::task::yield_now().await;
        task.abort();
        assert!(task.await.unwrap_err().is_cancelled());
        assert!(!token.is_cancelled());
    }
}
