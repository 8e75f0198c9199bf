//! The catalogue's version: a column of the one row of `petstore_state`, which each change of animals updates. Reads
//! select it in the same statement as their data.
//!
//! While an older snapshot is open, the server keeps every row version of that row. So each statement finds the newest
//! row version at the end of an index, not by a value that all row versions share (`schema/7.sql`).

use std::{sync::Arc, time::Duration};

use petstore_domain::{CatalogueVersion, StoreError};
use petstore_storage::StoredVersion;
use tokio::time;
use tokio_postgres::Row;

use crate::{error::StoreFailure, pool::Pool};

/// The time limit of a read of the version. A server that takes longer is probably gone.
const TIMEOUT: Duration = Duration::from_secs(1);

/// The one row of `petstore_state`, as a table in a query.
macro_rules! state {
    () => {
        "(SELECT * FROM petstore_state ORDER BY changes DESC LIMIT 1)"
    };
}
pub(crate) use state;

/// The condition of an `UPDATE` of the one row. It also holds after a concurrent update of the row.
macro_rules! where_state {
    () => {
        " WHERE changes >= (SELECT changes FROM petstore_state ORDER BY changes DESC LIMIT 1) "
    };
}
pub(crate) use where_state;

/// Selects the columns for [`from_row`].
pub(crate) const SELECT: &str = concat!("SELECT version, changes FROM ", state!(), " c");
/// Locks the row until the transaction ends. The next statement sees everything that was committed under the lock, and
/// identifiers that are drawn under the lock become visible in ascending order.
pub(crate) const LOCK: &str = "SELECT FROM petstore_state ORDER BY changes DESC LIMIT 1 FOR UPDATE";

/// Reads the version from the first two columns of a row.
pub(crate) fn from_row(row: Option<&Row>) -> Result<StoredVersion, StoreError> {
    let columns = |row: &Row| {
        let version = match row.try_get::<_, &[u8]>(0).ok()? {
            [] => None,
            bytes => Some(CatalogueVersion(u128::from_be_bytes(bytes.try_into().ok()?))),
        };
        Some(StoredVersion { version, changes: row.try_get(1).ok()? })
    };
    let missing = || {
        StoreError::corrupt("the catalogue's version", "the version is present and has 16 bytes")
    };
    row.and_then(columns).ok_or_else(missing)
}

/// Returns a new random version.
pub(crate) fn random() -> Result<Vec<u8>, StoreFailure> {
    let mut version = vec![0; 16];
    getrandom::fill(&mut version)?;
    Ok(version)
}

/// Reads the version. Returns `None` if that fails.
pub(crate) async fn read(pool: Arc<Pool>) -> Option<StoredVersion> {
    let Ok(rows) = time::timeout(TIMEOUT, pool.query(SELECT, &[])).await else {
        pool.drop_all();
        return None;
    };
    from_row(rows.ok()?.first()).ok()
}
