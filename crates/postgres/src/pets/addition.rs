//! The statement that adds animals with their idempotency records, under savepoints (`schema/7.sql`).

use petstore_domain::{AddError, Added, IdempotencyDecision, PetId, StoreError};
use petstore_storage::writer::Add;
use tokio_postgres::{Error, Row};

use crate::{
    error::passes,
    pets::rows,
    version::{state, where_state},
};

/// Adds animals with their idempotency records. Returns a row for each animal, in the order of the arrays. Each row has
/// the version and one of these: the identifier of the animal, the server's refusal, or the record that the addition's
/// key has already.
///
/// The row of the state is updated even if nothing is added. So the statement fails if the store is not open, and the
/// commit waits until everything that was read is durable, on a standby too.
pub(crate) const ADD: &str = concat!(
    "WITH new AS MATERIALIZED (SELECT e.* FROM ",
    state!(),
    " c, petstore_add(c.state, $1::text[], $2::bigint[], $3::text[], $4::bytea[], $5::bytea[], $6::bigint[], \
       $7::bigint[]) e \
     ), renewed AS ( \
       UPDATE petstore_state SET changes = changes + 1, \
         version = CASE (SELECT count(new_id) FROM new) WHEN 0 THEN version ELSE $8::bytea END",
    where_state!(),
    "RETURNING version, changes \
     ) SELECT renewed.version, renewed.changes, new_id, refusal, code, is_own, \
       (known).id, (known).fingerprint, (known).pet_id, (known).created_at \
     FROM renewed LEFT JOIN new ON true ORDER BY nth"
);

/// The outcome of an addition. `None` if the addition must be tried again.
pub(crate) type Outcome = Option<Result<Added, AddError>>;

/// Returns the outcome of an addition from its row of [`ADD`]. A conflict with a concurrent transaction is an error
/// only if the addition `is_last_try`.
pub(crate) fn outcome(row: &Row, add: &Add, is_last_try: bool) -> Result<Outcome, Error> {
    let pet = |id| add.pet.clone().with_id(id);
    if let Some(id) = row.try_get(2)? {
        return Ok(Some(Ok(Added::Created(pet(PetId(id))))));
    }
    if let Some(message) = row.try_get::<_, Option<String>>(3)? {
        // `is_own` is `false` if an operator's trigger on the table failed, not the statement itself.
        let (state, is_own): (&str, bool) = (row.try_get(4)?, row.try_get(5)?);
        if state.starts_with("40") && !is_last_try {
            return Ok(None);
        }
        let may_pass = is_own && passes(state);
        let make = if may_pass { StoreError::unavailable } else { StoreError::refused };
        return Ok(Some(Err(make(message).into())));
    }
    // An operator may have deleted the record meanwhile.
    let (Some(request), Some(_)) = (&add.request, row.try_get::<_, Option<&[u8]>>(6)?) else {
        return Ok(None);
    };
    Ok(match rows::record(row, 6).map(|record| request.decide(Some(&record))) {
        Ok(IdempotencyDecision::Create) => None,
        Ok(IdempotencyDecision::Replay(id)) => Some(Ok(Added::Replayed(pet(id)))),
        Ok(IdempotencyDecision::Reused) => Some(Err(AddError::IdempotencyKeyReused)),
        Err(corruption) => Some(Err(StoreError::from(corruption).into())),
    })
}
