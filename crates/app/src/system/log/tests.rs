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
struct Memory(Arc<Mutex<Vec<u8>>>);

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

/// A writer without space.
struct Full;

impl Write for Full {
    fn write(&mut self, _: &[u8]) -> io::Result<usize> {
        Err(io::ErrorKind::StorageFull.into())
    }

    fn flush(&mut self) -> io::Result<()> {
        Err(io::ErrorKind::StorageFull.into())
    }
}

fn written(json: bool, log: impl FnOnce()) -> String {
    let memory = Memory::default();
    let (guard, lines) = Log::new(memory.clone(), 100).unwrap();
    let layer = layer(lines, json, false).with_filter(filter("").unwrap());
    let subscriber = tracing_subscriber::registry().with(layer);
    tracing::subscriber::with_default(subscriber, log);
    drop(guard);
    String::from_utf8(memory.0.lock().unwrap().clone()).unwrap()
}

#[test]
fn a_line_in_the_json_format_is_a_json_object() {
    let text = written(true, || tracing::info!(answer = 42, "one"));
    assert!(text.starts_with(r#"{"timestamp":""#) && text.ends_with("}\n"), "{text}");
}

#[test]
fn by_default_petstore_logs_from_info_and_hyper_from_error() {
    let text = written(false, || {
        tracing::info!(target: "petstore_http::server", "logged 1");
        tracing::debug!(target: "petstore_http::server", "silent");
        tracing::warn!(target: "h2::codec", "logged 2");
        tracing::info!(target: "h2::codec", "silent");
        tracing::warn!(target: "hyper::proto", "silent");
        tracing::error!(target: "hyper::proto", "logged 3");
    });
    assert_eq!(text.matches("logged").count(), 3, "{text}");
    assert!(!text.contains("silent"), "{text}");
}

#[test]
fn an_invalid_directive_is_refused() {
    for text in ["", "info", "warn,petstore_http=debug", "off"] {
        assert!(filter(text).is_ok(), "{text:?}");
    }
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

#[test]
fn a_full_stderr_loses_only_log_lines() {
    let (guard, mut lines) = Log::new(Full, 10).unwrap();
    lines.write_all(b"a line\n").unwrap();
    drop(guard);
}
