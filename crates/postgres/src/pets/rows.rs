//! Rows of the tables `pet` and `idempotency`.

use petstore_domain::{
    Corruption, Fingerprint, IdempotencyId, IdempotencyRecord, Pet, PetId, PetStatus, Timestamp,
};
use tokio_postgres::Row;

use crate::{
    values::{Bytes, named},
    version::state,
};

/// Selects the version and an animal. There is one row even without such an animal.
pub(crate) const FIND: &str = "SELECT c.version, c.changes, p.id, p.name, p.category_id, p.status \
     FROM petstore_state c LEFT JOIN pet p ON p.id = $1 ORDER BY c.changes DESC LIMIT 1";

/// Selects the version and up to `$2` animals after the identifier `$1`. An empty page is one row with the version. The
/// status is part of the text, not a value, so that the planner can choose its index.
macro_rules! page {
    ($and:literal) => {
        concat!(
            "SELECT c.version, c.changes, p.id, p.name, p.category_id, p.status FROM ",
            state!(),
            " c LEFT JOIN (SELECT id, name, category_id, status FROM pet WHERE id > $1",
            $and,
            " ORDER BY id LIMIT $2) p ON true ORDER BY p.id"
        )
    };
}

pub(crate) const fn page(status: Option<PetStatus>) -> &'static str {
    match status {
        None => page!(""),
        Some(PetStatus::Available) => page!(" AND status = 'available'"),
        Some(PetStatus::Pending) => page!(" AND status = 'pending'"),
        Some(PetStatus::Sold) => page!(" AND status = 'sold'"),
    }
}

/// Selects up to `$2` animals from the identifier `$1` on.
pub(crate) const FROM: &str =
    "SELECT id, name, category_id, status FROM pet WHERE id >= $1 ORDER BY id LIMIT $2";

/// Reads the animals of rows that begin with the version. A row without an identifier has no animal.
pub(crate) fn pets(rows: &[Row]) -> Result<Vec<Pet>, Corruption> {
    let animals = rows.iter().filter(|row| !matches!(row.try_get::<_, Option<i64>>(2), Ok(None)));
    animals.map(|row| pet(row, 2)).collect()
}

/// Reads the animal in the four columns from `first` on.
pub(crate) fn pet(row: &Row, first: usize) -> Result<Pet, Corruption> {
    let read = || {
        let name = row.try_get::<_, String>(first + 1)?;
        Ok((row.try_get(first)?, name, row.try_get(first + 2)?, row.try_get(first + 3)?))
    };
    let (id, name, category_id, status) = named(row, "animal", first, read)?;
    Pet::from_stored(id, name, category_id, status)
}

/// Selects the records with these ids.
pub(crate) const RECORDS: &str =
    "SELECT id, fingerprint, pet_id, created_at FROM idempotency WHERE id = ANY($1)";
/// Selects up to `$3` records after the record `$2` of the animal `$1`.
pub(crate) const RECORDS_AFTER: &str = "SELECT id, fingerprint, pet_id, created_at FROM idempotency \
     WHERE (pet_id, id) > ($1, $2) ORDER BY pet_id, id LIMIT $3";
/// Deletes up to `$2` records of the time `$1` or earlier, the oldest first, and counts them. Locks the row of the
/// state first, as additions do.
pub(crate) const PURGE: &str = "WITH purged AS (DELETE FROM idempotency WHERE id IN \
       (SELECT i.id FROM (SELECT FROM petstore_state ORDER BY changes DESC LIMIT 1 FOR SHARE) c, idempotency i \
        WHERE i.created_at <= $1 ORDER BY i.created_at LIMIT $2) \
     RETURNING 1) SELECT count(*) FROM purged";

/// Reads the record in the four columns from `first` on.
pub(crate) fn record(row: &Row, first: usize) -> Result<IdempotencyRecord, Corruption> {
    named(row, "an idempotency record of animal", first + 2, || {
        let (Bytes(id), Bytes(fingerprint)) = (row.try_get(first)?, row.try_get(first + 1)?);
        Ok(IdempotencyRecord {
            id: IdempotencyId(id),
            fingerprint: Fingerprint(fingerprint),
            pet: PetId(row.try_get(first + 2)?),
            at: Timestamp(row.try_get(first + 3)?),
        })
    })
}
