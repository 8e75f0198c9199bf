//! Rows of the table `idempotency`.

use petstore_domain::{Corruption, IdempotencyRequest, Pet, PetId, Timestamp};
use tokio_postgres::Row;

use super::rows;
use crate::error::corruption;

/// Makes room: a record that does not count any more is as good as none.
pub(crate) const FORGET_EXPIRED: &str = "DELETE FROM idempotency AS i \
     USING unnest($1::bytea[], $2::bytea[], $3::bigint[]) AS u (caller, key, expired) \
     WHERE i.caller = u.caller AND i.key = u.key AND i.created_at <= u.cutoff";
/// Reserves keys together with an identifier for each. Whoever else has begun to reserve one of
/// them is waited for: if that commits, the key is not among those returned.
pub(crate) const CLAIM: &str = "INSERT INTO idempotency \
     (caller, key, fingerprint, pet_id, created_at) \
     SELECT u.caller, u.key, u.fingerprint, nextval('pet_id'), u.created_at \
     FROM unnest($1::bytea[], $2::bytea[], $3::bytea[], $4::bigint[]) \
       AS u (caller, key, fingerprint, created_at) \
     ON CONFLICT (caller, key) DO NOTHING RETURNING caller, key, pet_id";
/// Records with their animals.
pub(crate) const FIND: &str = "SELECT i.caller, i.key, i.fingerprint, i.created_at, i.pet_id, \
       p.id, p.name, p.category_id, p.status \
     FROM unnest($1::bytea[], $2::bytea[]) AS u (caller, key) \
     JOIN idempotency i ON i.caller = u.caller AND i.key = u.key \
     LEFT JOIN pet p ON p.id = i.pet_id";
pub(crate) const FORGET: &str = "DELETE FROM idempotency WHERE (caller, key) IN \
     (SELECT caller, key FROM idempotency WHERE created_at <= $1 ORDER BY created_at LIMIT $2)";

/// What a record is found by: the caller's digest and the key, as bytes.
pub(crate) type Name<'a> = (&'a [u8], &'a [u8]);

pub(crate) fn name(attempt: &IdempotencyRequest) -> Name<'_> {
    (&attempt.idempotency.caller.0, attempt.idempotency.key.as_str().as_bytes())
}

/// The name in the first two columns of a row.
pub(crate) fn name_of(row: &Row) -> Result<Name<'_>, tokio_postgres::Error> {
    Ok((row.try_get(0)?, row.try_get(1)?))
}

/// A record as [`FIND`] finds it.
#[derive(Debug)]
pub(crate) struct Record<'a> {
    /// As it was stored: of 32 bytes, unless somebody else wrote it.
    pub(crate) fingerprint: &'a [u8],
    pub(crate) created_at: Timestamp,
    row: &'a Row,
}

impl<'a> Record<'a> {
    pub(crate) fn of(row: &'a Row) -> Result<Self, tokio_postgres::Error> {
        let created_at = Timestamp(row.try_get(3)?);
        Ok(Self { fingerprint: row.try_get(2)?, created_at, row })
    }

    /// The animal that was added.
    pub(crate) fn pet(&self) -> Result<Pet, Corruption> {
        let id = self.row.try_get(4).map(PetId);
        let id = id.map_err(|error| corruption("an idempotency record", error))?;
        if matches!(self.row.try_get::<_, Option<i64>>(5), Ok(None)) {
            let what = format!("an idempotency record of animal {id}");
            return Err(corruption(what, "it exists"));
        }
        rows::pet(self.row, 5)
    }
}
