//! Another process that uses the same store.

use std::{
    env,
    process::Command,
    thread,
    time::{Duration, Instant},
};

use petstore_domain::{Phase, StoreId};
use tokio::runtime;

use crate::{
    calls::{add, all, change_phase, new_key},
    failure::{Failure, ensure_eq, tried},
    harness::{BoxError, Store},
    samples::{key, numbered},
};

const PLACE: &str = "PETSTORE_CONFORMANCE_PLACE";
const ACTION: &str = "PETSTORE_CONFORMANCE_ACTION";
/// The time limit of the other process.
const TIME_LIMIT: Duration = Duration::from_mins(1);

/// Carries out `action` on `store`. Promises let another process call this function.
///
/// # Errors
/// The store failed, or it lacks rows that the promise wrote.
pub async fn act(store: &Store, action: &str) -> Result<(), Failure> {
    match action {
        "add" => {
            add(store, numbered(2)).await?;
            new_key(store, key(2, "elsewhere", 0, None)).await.map(drop)
        }
        "find-three" => ensure_eq("how many animals elsewhere", &all(store).await?.len(), &3),
        "seal" => {
            let phase = Phase::Sealed { to: StoreId([7; 16]), label: "elsewhere".to_owned() };
            change_phase(store, phase).await.map(drop)
        }
        _ => Err(Failure::new(format_args!("there is no action '{action}'"))),
    }
}

/// Starts this test program again with only its test `name`. That test calls [`act_as_child`], which carries out
/// `action` on the store at `place`. Blocks until the other process has ended.
///
/// This function is the body of [`ScratchStore::act_elsewhere`](crate::ScratchStore::act_elsewhere).
///
/// # Errors
/// The other process failed, or took longer than a minute.
pub fn act_in_child(name: &str, place: &str, action: &str) -> Result<(), BoxError> {
    let mut child = Command::new(env::current_exe()?)
        .args(["--exact", name, "--nocapture"])
        .env(PLACE, place)
        .env(ACTION, action)
        .spawn()?;
    let begun = Instant::now();
    while begun.elapsed() < TIME_LIMIT {
        if let Some(status) = child.try_wait()? {
            let failed = || format!("the process ended with {status}").into();
            return if status.success() { Ok(()) } else { Err(failed()) };
        }
        thread::sleep(Duration::from_millis(5));
    }
    child.kill()?;
    child.wait()?;
    Err(format!("the process did not end within {TIME_LIMIT:?}").into())
}

/// Calls [`act`] on the store that `open` opens at the place of [`act_in_child`]. This function is the body of a
/// separate test, which does nothing unless [`act_in_child`] started it.
///
/// # Errors
/// The store does not open, or [`act`] failed.
pub fn act_as_child<F>(open: impl FnOnce(String) -> F) -> Result<(), Failure>
where
    F: Future<Output = Result<Store, BoxError>>,
{
    let (Ok(place), Ok(action)) = (env::var(PLACE), env::var(ACTION)) else { return Ok(()) };
    let runtime = runtime::Builder::new_multi_thread().enable_all().build()?;
    runtime.block_on(async {
        let store = tried("the store does not open", open(place).await)?;
        act(&store, &action).await
    })
}
