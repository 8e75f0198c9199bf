//! An addition in a transaction of the writer.

use petstore_domain::{AddError, Added, IdempotencyDecision, NewPet, PetId};
use petstore_storage::writer::Add;

use crate::{
    connection::Statements,
    error::Failure,
    pets::{idempotency, rows},
};

/// The outcome of an addition before the commit.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Stored {
    pub(crate) id: PetId,
    /// `true` if this transaction has added the animal; `false` for a replay.
    pub(crate) is_new: bool,
}

impl Stored {
    /// Returns the answer to the addition of `pet`.
    pub(crate) fn answer(self, pet: NewPet) -> Added {
        let pet = pet.with_id(self.id);
        if self.is_new { Added::Created(pet) } else { Added::Replayed(pet) }
    }
}

/// Adds the animal of a job. With a savepoint, the caller can undo this job alone.
///
/// A job without a savepoint does not look for its record, which would take some 4,000 instructions. A repeat then fails,
/// at the latest at the unique index of the records, and the caller runs the job again with a savepoint.
pub(crate) fn add(
    statements: &mut Statements<'_>,
    Add { pet, request, .. }: &Add,
    has_savepoint: bool,
) -> Result<Stored, Failure<AddError>> {
    let stored = match request {
        Some(request) if has_savepoint => idempotency::find(statements, request.id)?,
        Some(_) | None => None,
    };
    let decision = request.map(|request| request.decide(stored.as_ref()));
    match decision.unwrap_or(IdempotencyDecision::Create) {
        IdempotencyDecision::Create => {}
        IdempotencyDecision::Replay(id) => return Ok(Stored { id, is_new: false }),
        IdempotencyDecision::Reused => {
            return Err(Failure::Answer(AddError::IdempotencyKeyReused));
        }
    }
    if has_savepoint {
        rows::require_identifiers(statements.connection, 1)?;
    }
    let id = rows::insert(statements, pet)?;
    if let Some(request) = request {
        idempotency::write(statements, stored.as_ref(), &request.into_record(id))?;
    }
    Ok(Stored { id, is_new: true })
}
