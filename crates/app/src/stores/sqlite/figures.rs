//! What a SQLite store says of itself among the metrics.

use std::sync::Weak;

use petstore_http::{Figure, FigureKind};
use petstore_sqlite::{Activity, SqliteStore};

/// Nothing once the store is closed.
pub(super) fn read(store: &Weak<SqliteStore>) -> Vec<Figure> {
    let Some(store) = store.upgrade() else { return Vec::new() };
    let Activity { commits, writes, write_queue, read_queue } = store.activity();
    let counter = |name, help, value| Figure { name, help, kind: FigureKind::Counter, value };
    let gauge =
        |name, help, value| Figure { name, help, kind: FigureKind::Gauge, value: value as u64 };
    vec![
        counter("petstore_sqlite_commits_total", "Transactions that were committed.", commits),
        counter("petstore_sqlite_writes_total", "Writes that were committed.", writes),
        gauge("petstore_sqlite_write_queue_length", "Writes that wait.", write_queue),
        gauge(
            "petstore_sqlite_read_queue_length",
            "Reads that found no worker: they wait for a thread or run on one.",
            read_queue,
        ),
    ]
}
