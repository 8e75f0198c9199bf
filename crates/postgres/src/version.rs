//! The catalogue's mark, read in the same snapshot as the data that it marks.

use petstore_domain::{CatalogueVersion, Corruption};
use tokio_postgres::Row;

use crate::error::{StoreFailure, corruption};

/// The columns that [`Seen::of`] expects, in front of all others.
macro_rules! select_with_mark {
    ($($tail:literal),+) => {
        concat!("SELECT c.version, c.changes", $($tail),+)
    };
}
pub(crate) use select_with_mark;

pub(crate) const SELECT: &str = select_with_mark!(" FROM catalogue c WHERE c.only_row = 1");
/// Writes a new mark, or the old one once more if there is none: then nothing has changed, but the
/// commit waits until all that it has read is durable, on a standby too.
pub(crate) const RENEW: &str = "UPDATE catalogue SET version = coalesce($1::bytea, version), \
     changes = changes + CASE WHEN $1::bytea IS NULL THEN 0 ELSE 1 END WHERE only_row = 1 \
     RETURNING version, changes";
/// The mark that no state had before.
pub(crate) const FIRST: &str =
    "INSERT INTO catalogue (only_row, version, changes) VALUES (1, $1, 0)";

/// The mark of a snapshot.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Seen {
    pub(crate) mark: CatalogueVersion,
    /// How many changes there had been: more is later.
    pub(crate) changes: i64,
}

impl Seen {
    /// Out of the first two columns of a row.
    pub(crate) fn of(row: Option<&Row>) -> Result<Self, Corruption> {
        let columns = |row: &Row| {
            let bytes: [u8; 16] = row.try_get::<_, &[u8]>(0).ok()?.try_into().ok()?;
            let mark = CatalogueVersion(u128::from_be_bytes(bytes));
            Some(Self { mark, changes: row.try_get(1).ok()? })
        };
        let missing = || corruption("the mark of the catalogue", "there is one, of 16 bytes");
        row.and_then(columns).ok_or_else(missing)
    }
}

/// A mark that never was and never will be again.
pub(crate) fn random_mark() -> Result<[u8; 16], StoreFailure> {
    let mut mark = [0; 16];
    getrandom::fill(&mut mark).map_err(|error| StoreFailure::Random(error.to_string()))?;
    Ok(mark)
}
