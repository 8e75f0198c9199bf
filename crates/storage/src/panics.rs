//! Telling the program that a thread or a task of a store has panicked.

use std::thread;

use tokio_util::sync::CancellationToken;

/// Held by a thread or a task that a store cannot go on without: cancels its token if a panic drops it; not if the
/// task ends, is aborted, or goes with the runtime.
#[derive(Debug)]
pub struct PanicGuard(pub CancellationToken);

impl Drop for PanicGuard {
    fn drop(&mut self) {
        if thread::panicking() {
            self.0.cancel();
        }
    }
}

/// Runs a task that a store cannot go on without. If it panics, `on_panic` is canceled.
pub async fn essential(on_panic: CancellationToken, task: impl Future<Output = ()>) {
    let _guard = PanicGuard(on_panic);
    task.await;
}

#[cfg(test)]
mod tests {
    use std::{future, thread};

    use tokio_util::sync::CancellationToken;

    use super::{PanicGuard, essential};

    #[tokio::test]
    async fn a_task_that_panics_cancels_the_token() {
        let token = CancellationToken::new();
        let task = tokio::spawn(essential(token.clone(), async { panic!("as asked") }));
        token.cancelled().await;
        assert!(task.await.unwrap_err().is_panic());
    }

    #[tokio::test]
    async fn a_task_that_ends_or_is_aborted_does_not() {
        let token = CancellationToken::new();
        tokio::spawn(essential(token.clone(), async {})).await.unwrap();
        let task = tokio::spawn(essential(token.clone(), future::pending()));
        tokio::task::yield_now().await;
        task.abort();
        assert!(task.await.unwrap_err().is_cancelled());
        assert!(!token.is_cancelled());
    }

    #[test]
    fn each_thread_tells_of_its_own_panic_alone() {
        let token = CancellationToken::new();
        let (ends, panics) = (token.clone(), token.clone());
        thread::spawn(move || drop(PanicGuard(ends))).join().unwrap();
        assert!(!token.is_cancelled());
        let panicked = thread::spawn(move || {
            let _guard = PanicGuard(panics);
            panic!("as asked");
        });
        assert!(panicked.join().is_err() && token.is_cancelled());
    }
}
