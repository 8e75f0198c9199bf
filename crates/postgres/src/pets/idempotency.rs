//! Rows of the table `idempotency`.

use petstore_domain::{
    Corruption, Fingerprint, IdempotencyId, IdempotencyRecord, PetId, Timestamp,
};
use tokio_postgres::Row;

use crate::values::Fields;

/// Deletes expired records among the records with these ids. The condition uses the index at every estimated size of
/// the table; the plan of a join may read the whole table.
pub(crate) const PURGE_IDS: &str = "DELETE FROM idempotency AS i WHERE i.id = ANY($1::bytea[]) \
     AND i.created_at <= (SELECT max(u.cutoff) FROM unnest($1::bytea[], $2::bigint[]) AS u (id, cutoff) \
       WHERE u.id = i.id)";
/// Selects the records with these ids.
pub(crate) const FIND: &str =
    "SELECT id, fingerprint, pet_id, created_at FROM idempotency WHERE id = ANY($1)";
/// Selects up to `$3` records behind the record `$2` of the animal `$1`.
pub(crate) const AFTER: &str = "SELECT id, fingerprint, pet_id, created_at FROM idempotency \
     WHERE (pet_id, id) > ($1, $2) ORDER BY pet_id, id LIMIT $3";
/// Deletes the oldest records, and counts them. Locks the row of the state first, as additions do.
pub(crate) const PURGE: &str = "WITH purged AS (DELETE FROM idempotency WHERE id IN \
       (SELECT i.id FROM (SELECT FROM petstore_state ORDER BY changes DESC LIMIT 1 FOR SHARE) c, idempotency i \
        WHERE i.created_at <= $1 ORDER BY i.created_at LIMIT $2) \
     RETURNING 1) SELECT count(*) FROM purged";

/// Reads a record from the four columns of a row.
pub(crate) fn record(row: &Row) -> Result<IdempotencyRecord, Corruption> {
    let fields = Fields::new(row, 0, "an idempotency record of animal", 2)?;
    Ok(IdempotencyRecord {
        id: IdempotencyId(fields.bytes(0, "its id has 16 bytes")?),
        fingerprint: Fingerprint(fields.bytes(1, "its fingerprint has 32 bytes")?),
        pet: PetId(fields.id()),
        at: Timestamp(fields.get(3)?),
    })
}
