//! The catalogue's version in the database: a row that each transaction which changes an animal renews. Reads select
//! it in the same statement as their data.

use std::{pin::Pin, sync::Arc, time::Duration};

use petstore_domain::{CatalogueVersion, StoreError};
use petstore_storage::StoredVersion;
use tokio::time;
use tokio_postgres::Row;

use crate::{error::StoreFailure, pool::Pool};

/// A read of the version that takes longer is of no use, and its server probably gone.
const TIMEOUT: Duration = Duration::from_secs(1);

/// The columns that [`from_row`] expects, in front of all others.
macro_rules! select_with_version {
    ($($tail:literal),+) => {
        concat!("SELECT c.version, c.changes", $($tail),+)
    };
}
pub(crate) use select_with_version;

pub(crate) const SELECT: &str = select_with_version!(" FROM catalogue c WHERE c.only_row = 1");
/// Locks the row until the transaction ends: what follows sees all that others have committed who did so too, and
/// identifiers that are drawn under the lock can be read in their order.
pub(crate) const LOCK: &str = "SELECT FROM catalogue WHERE only_row = 1 FOR NO KEY UPDATE";
/// Writes a new version. Without one (null) it writes the old one again: nothing has changed, but
/// the commit waits until all that it has read is durable, on a standby too.
pub(crate) const RENEW: &str = "UPDATE catalogue SET version = coalesce($1::bytea, version), \
     changes = changes + CASE WHEN $1::bytea IS NULL THEN 0 ELSE 1 END WHERE only_row = 1 \
     RETURNING version, changes";
/// The version of a new catalogue.
pub(crate) const INSERT: &str =
    "INSERT INTO catalogue (only_row, version, changes) VALUES (1, $1, 0)";

/// Reads the first two columns of a row.
pub(crate) fn from_row(row: Option<&Row>) -> Result<StoredVersion, StoreError> {
    let columns = |row: &Row| {
        let version = match row.try_get::<_, &[u8]>(0).ok()? {
            [] => None,
            bytes => Some(CatalogueVersion(u128::from_be_bytes(bytes.try_into().ok()?))),
        };
        Some(StoredVersion { version, changes: row.try_get(1).ok()? })
    };
    let missing = || StoreError::corrupt("the catalogue's version", "there is one, of 16 bytes");
    row.and_then(columns).ok_or_else(missing)
}

/// Returns a version that never was and never will be again.
pub(crate) fn random() -> Result<[u8; 16], StoreFailure> {
    let mut version = [0; 16];
    getrandom::fill(&mut version)?;
    Ok(version)
}

/// Returns how the version is read again and again.
pub(crate) fn reader(
    pool: &Arc<Pool>,
) -> impl Fn() -> Pin<Box<dyn Future<Output = Option<StoredVersion>> + Send>> + use<> {
    let pool = Arc::clone(pool);
    move || {
        let pool = Arc::clone(&pool);
        Box::pin(async move {
            let Ok(rows) = time::timeout(TIMEOUT, pool.query(SELECT, &[])).await else {
                pool.drop_all();
                return None;
            };
            from_row(rows.ok()?.first()).ok()
        })
    }
}
