//! What a PostgreSQL store says of itself among the metrics.

use std::sync::Weak;

use petstore_http::{Figure, FigureKind};
use petstore_postgres::{Activity, PostgresStore};

/// Nothing once the store is closed.
pub(super) fn read(store: &Weak<PostgresStore>) -> Vec<Figure> {
    let Some(store) = store.upgrade() else { return Vec::new() };
    let Activity { connections, idle, waiting } = store.activity();
    let gauge = |name, help, value: usize| Figure {
        name,
        help,
        kind: FigureKind::Gauge,
        value: value as u64,
    };
    vec![
        gauge(
            "petstore_postgres_pool_connections",
            "Connections of the pool that are open or being made.",
            connections,
        ),
        gauge("petstore_postgres_pool_idle_connections", "Of them, those that no call uses.", idle),
        gauge("petstore_postgres_pool_waiting_calls", "Calls that wait for a connection.", waiting),
    ]
}
