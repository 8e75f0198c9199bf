//! Purging what has expired as fast as it expires, beside other writers.
//!
//! A batch is one small transaction. After each, the purge rests for as long as the batch took: so it
//! takes at most half of the writer's time, however much has expired, and less while others write,
//! because the time that a batch waits for them counts too.

use std::time::Duration;

use petstore_domain::StoreError;
use tokio::time::{self, Instant};

/// The shortest rest after a batch, so that a store that answers at once is not called in a busy loop.
const MIN_REST: Duration = Duration::from_millis(1);

/// Runs `batch` until it answers that nothing is left.
pub(super) async fn in_batches<F>(mut batch: impl FnMut() -> F) -> Result<(), StoreError>
where
    F: Future<Output = Result<bool, StoreError>>,
{
    loop {
        let began = Instant::now();
        if !batch().await? {
            return Ok(());
        }
        time::sleep(began.elapsed().max(MIN_REST)).await;
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use tokio::time::{self, Instant};

    use super::in_batches;

    #[tokio::test(start_paused = true)]
    async fn a_purge_rests_as_long_as_each_batch_took() {
        let (began, mut batches) = (Instant::now(), Vec::new());
        in_batches(|| {
            let took = if batches.len() < 2 { 20 } else { 30 };
            batches.push(began.elapsed().as_millis());
            let more = batches.len() < 4;
            async move {
                time::sleep(Duration::from_millis(took)).await;
                Ok(more)
            }
        })
        .await
        .unwrap();
        assert_eq!(batches, [0, 40, 80, 140]);
    }
}
