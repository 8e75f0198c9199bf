//! Rows of the table `idempotency`.

use petstore_domain::{
    Corruption, Fingerprint, IdempotencyId, IdempotencyRecord, Pet, PetId, Timestamp,
};
use tokio_postgres::Row;

use super::rows;
use crate::values::Fields;

/// Deletes the expired ones among the records with these ids. They are found by their index whatever the server
/// takes the size of the table to be: a join may be planned to read all of it.
pub(crate) const PURGE_IDS: &str = "DELETE FROM idempotency AS i WHERE i.id = ANY($1::bytea[]) \
     AND i.created_at <= (SELECT max(u.cutoff) FROM unnest($1::bytea[], $2::bigint[]) AS u (id, cutoff) \
       WHERE u.id = i.id)";
/// The records with these ids, with their animals, found by their index likewise.
pub(crate) const FIND: &str = "SELECT i.id, i.fingerprint, i.pet_id, i.created_at, \
       p.id, p.name, p.category_id, p.status \
     FROM idempotency i LEFT JOIN LATERAL \
       (SELECT id, name, category_id, status FROM pet WHERE id = i.pet_id LIMIT 1) p ON true \
     WHERE i.id = ANY($1)";
/// Deletes the oldest records, and counts them. The row of `catalogue` is locked first, as by additions.
pub(crate) const PURGE: &str = "WITH purged AS (DELETE FROM idempotency WHERE id IN \
       (SELECT i.id FROM (SELECT FROM catalogue WHERE only_row = 1 FOR SHARE) c, idempotency i \
        WHERE i.created_at <= $1 ORDER BY i.created_at LIMIT $2) \
     RETURNING 1) SELECT count(*) FROM purged";

/// Reads the record in the first four columns of a row.
pub(crate) fn record(row: &Row) -> Result<IdempotencyRecord, Corruption> {
    let fields = Fields::new(row, 0, "an idempotency record of animal", 2)?;
    Ok(IdempotencyRecord {
        id: IdempotencyId(fields.bytes(0, "its id has 16 bytes")?),
        fingerprint: Fingerprint(fields.bytes(1, "its fingerprint has 32 bytes")?),
        pet: PetId(fields.id()),
        at: Timestamp(fields.get(3)?),
    })
}

/// Reads the animal of a record, in the four columns behind it.
pub(crate) fn pet_of_record(row: &Row, record: &IdempotencyRecord) -> Result<Pet, Corruption> {
    if matches!(row.try_get::<_, Option<i64>>(4), Ok(None)) {
        let record = format_args!("an idempotency record of animal {}", record.pet);
        return Err(Corruption::new(record, "it exists"));
    }
    rows::pet(row, 4)
}
