//! Reads the version again and again, so that the cache knows what other instances write.

use std::{
    sync::Arc,
    time::{Duration, Instant},
};

use tokio::time;

use super::{SELECT, StoredVersion, VersionCache};
use crate::{connection::Connection, connector::Purpose, pool::Pool};

/// How often the version is read; less than half of what the port allows.
const INTERVAL: Duration = Duration::from_millis(40);
/// A read that takes longer is of no use, and its connection probably broken.
const TIMEOUT: Duration = Duration::from_secs(1);
/// The pause after a read that failed.
const RETRY_PAUSE: Duration = Duration::from_millis(250);
/// How long the version is read for one request. An idle service asks the database nothing.
const WATCH_TIME: Duration = Duration::from_secs(2);

/// Reads the version for as long as it is requested. Never ends by itself.
pub(crate) async fn watch(cache: Arc<VersionCache>, pool: Arc<Pool>) {
    let mut connection = None;
    loop {
        // A request during the last watch has left its notification.
        cache.requested.notified().await;
        let requested = Instant::now();
        while requested.elapsed() < WATCH_TIME {
            let began = Instant::now();
            connection = read(&cache, &pool, connection.take()).await;
            let pause = if connection.is_some() { INTERVAL } else { RETRY_PAUSE };
            time::sleep(pause.saturating_sub(began.elapsed())).await;
        }
    }
}

/// Reads once. Gives the connection back if it is still good.
async fn read(
    cache: &VersionCache,
    pool: &Pool,
    connection: Option<Connection>,
) -> Option<Connection> {
    let connection = match connection.filter(|connection| !connection.is_closed()) {
        Some(connection) => connection,
        None => pool.connect(Purpose::Calls).await.ok()?,
    };
    let began = Instant::now();
    // Requests fail for the same cause, and report it.
    let rows = time::timeout(TIMEOUT, connection.rows_alone(SELECT, &[])).await.ok()?.ok()?;
    cache.observe(StoredVersion::from_row(rows.first()).ok()?, began);
    Some(connection)
}
