use std::{
    io::{self, Write},
    sync::{
        Arc, Mutex,
        atomic::{AtomicUsize, Ordering},
        mpsc,
    },
    thread,
    time::{Duration, Instant},
};

use tracing_subscriber::{Layer as _, layer::SubscriberExt as _};

use super::{LAST_LINES, Log, filter, layer};

/// A writer that records its bytes.
#[derive(Clone, Default)]
pub(crate) struct Memory(Arc<Mutex<Vec<u8>>>);

impl Memory {
    /// Returns the text until now.
    pub(crate) fn text(&self) -> String {
        String::from_utf8(self.0.lock().unwrap().clone()).unwrap()
    }

    /// Removes the text until now. Returns the number of lines that contain `what`.
    pub(crate) fn take(&self, what: &str) -> usize {
        let count = self.text().lines().filter(|line| line.contains(what)).count();
        self.0.lock().unwrap().clear();
        count
    }
}

impl Write for Memory {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.0.lock().unwrap().write(bytes)
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

/// A writer that blocks until the sender is dropped, and counts its writes.
struct Stuck(mpsc::Receiver<()>, Arc<AtomicUsize>);

impl Write for Stuck {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        let _ = self.0.recv();
        self.1.fetch_add(1, Ordering::Relaxed);
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

#[test]
fn by_default_petstore_logs_from_info_and_hyper_from_error() {
    let memory = Memory::default();
    let (guard, lines) = Log::new(memory.clone(), 100).unwrap();
    let layer = layer(lines, false, false).with_filter(filter("").unwrap());
    tracing::subscriber::with_default(tracing_subscriber::registry().with(layer), || {
        tracing::info!(target: "petstore_http::server", "logged 1");
        tracing::debug!(target: "petstore_http::server", "silent");
        tracing::warn!(target: "h2::codec", "logged 2");
        tracing::info!(target: "h2::codec", "silent");
        tracing::warn!(target: "hyper::proto", "silent");
        tracing::error!(target: "hyper::proto", "logged 3");
    });
    drop(guard);
    let text = memory.text();
    assert_eq!(text.matches("logged").count(), 3, "{text}");
    assert!(!text.contains("silent"), "{text}");
}

#[test]
fn an_invalid_directive_is_refused() {
    let refusal = filter("petstore=loud").unwrap_err();
    assert!(refusal.contains("use directives like 'info'"), "{refusal}");
}

#[test]
fn a_stuck_log_reader_delays_no_event_and_the_end_only_up_to_the_limit() {
    let (release, stuck) = mpsc::channel();
    let written = Arc::new(AtomicUsize::new(0));
    let (guard, mut lines) = Log::new(Stuck(stuck, Arc::clone(&written)), 10).unwrap();
    let begun = Instant::now();
    for _ in 0..100 {
        lines.write_all(b"a line\n").unwrap();
    }
    assert!(begun.elapsed() < Duration::from_secs(1));
    drop(guard);
    assert!(begun.elapsed() >= LAST_LINES.0 && begun.elapsed() < 3 * LAST_LINES.0);
    // One line is being written, and ten are queued.
    drop((release, lines));
    while Arc::strong_count(&written) > 1 {
        assert!(begun.elapsed() < Duration::from_mins(1), "the writer never ends");
        thread::yield_now();
    }
    assert!(written.load(Ordering::Relaxed) <= 11);
}
