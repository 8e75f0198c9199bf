//! The identifier below which no animal can appear any more.
//!
//! Writers draw identifiers before they commit, and do not commit in the order of the identifiers. But whoever has
//! drawn one below the highest that is committed holds a lock of writers on one of the tables already, and keeps it
//! until its animals can be read. So those who hold such a lock now are waited for. That locks nothing, so it holds
//! up no writer, and no vacuum holds it up.

use std::time::{Duration, Instant};

use petstore_domain::PetId;
use tokio::time;

use super::rows;
use crate::{error::StoreFailure, pool::Pool};

/// How long writers that are under way are waited for.
const TIMEOUT: Duration = Duration::from_secs(2);
/// How often they are looked for meanwhile.
const POLL_INTERVAL: Duration = Duration::from_millis(2);

const HIGHEST: &str = "SELECT max(id) FROM pet";
const WRITERS: &str = "SELECT DISTINCT virtualtransaction FROM pg_locks \
     WHERE relation IN (to_regclass('pet'), to_regclass('idempotency')) \
     AND database = (SELECT oid FROM pg_database WHERE datname = current_database()) \
     AND mode = 'RowExclusiveLock' AND granted";
const ARE_WRITING: &str = "SELECT EXISTS (SELECT 1 FROM pg_locks \
     WHERE relation IN (to_regclass('pet'), to_regclass('idempotency')) \
     AND database = (SELECT oid FROM pg_database WHERE datname = current_database()) \
     AND mode = 'RowExclusiveLock' AND granted AND virtualtransaction = ANY($1))";

/// The highest identifier, when every writer has ended that may have drawn a lower one.
pub(super) async fn find(pool: &Pool) -> Result<Option<PetId>, StoreFailure> {
    let highest = rows::number(&pool.query(HIGHEST, &[]).await?)?;
    // Read after it: who begins later draws a higher one.
    let writers = pool.query(WRITERS, &[]).await?;
    let writers: Vec<String> =
        writers.iter().map(|row| row.try_get(0)).collect::<Result<_, _>>()?;
    let start = Instant::now();
    while !writers.is_empty() && rows::is_true(&pool.query(ARE_WRITING, &[&writers]).await?)? {
        if start.elapsed() > TIMEOUT {
            return Err(StoreFailure::Deadline(TIMEOUT));
        }
        time::sleep(POLL_INTERVAL).await;
    }
    Ok(highest.map(PetId))
}
