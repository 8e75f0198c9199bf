//! Threads that a store cannot go on without.

use std::{
    io,
    thread::{self, JoinHandle},
};

use tokio_util::sync::CancellationToken;

/// Spawns a thread that lives as long as the store does. `on_panic` is canceled if the thread panics; not if
/// it ends.
pub(crate) fn spawn_essential(
    name: &str,
    on_panic: &CancellationToken,
    run: impl FnOnce() + Send + 'static,
) -> io::Result<JoinHandle<()>> {
    thread::Builder::new().name(name.to_owned()).spawn(essential(on_panic, run))
}

/// Returns `run` with the same for a thread that is there already.
pub(crate) fn essential(
    on_panic: &CancellationToken,
    run: impl FnOnce() + Send + 'static,
) -> impl FnOnce() + Send + 'static {
    let token = on_panic.clone();
    move || {
        let guard = token.drop_guard();
        run();
        guard.disarm();
    }
}
