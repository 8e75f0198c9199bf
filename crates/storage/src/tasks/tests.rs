use std::{future, time::Duration};

use tokio::time::timeout;
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
        let tasks: StoreTasks = StoreTasks::spawn(&token, <_>::default(), (1, None), write, read);
        tasks.version.get();
        timeout(Duration::from_secs(10), token.cancelled()).await.unwrap();
    }
}
