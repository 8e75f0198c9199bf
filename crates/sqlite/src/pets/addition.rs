//! An addition in a transaction of the writer.

use petstore_domain::{AddError, Added, IdempotencyDecision, NewPet, PetId};
use petstore_storage::writer::Add;

use crate::{
    connection::Statements,
    error::{self, Failure},
    pets::rows,
    writer::MAX_GROUP,
};

/// The outcome of an addition before the commit.
pub(crate) type Outcome = Result<Stored, AddError>;

/// An animal that an addition has stored, or has found stored.
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

/// Adds the animal of a job. Fails if the whole transaction must be rolled back, in one of these cases:
/// - The failure is not a refusal.
/// - No savepoint can undo the changes of this addition.
/// - The addition may be a repeat, whose record was not looked for.
pub(crate) fn add(
    statements: &mut Statements<'_>,
    job: &Add,
    with_savepoint: bool,
) -> rusqlite::Result<Outcome> {
    let connection = statements.connection;
    let changes = connection.total_changes();
    if with_savepoint {
        connection.execute_batch("SAVEPOINT job")?;
    }
    let outcome = match insert(statements, job, with_savepoint) {
        Ok(outcome) => outcome,
        // Nothing was written yet.
        Err(Failure::Answer(error)) => Err(error::of_archive(error).into()),
        Err(Failure::Sqlite(error) | Failure::Commit(error)) => {
            let can_undo = if with_savepoint {
                let has_identifiers = rows::require_identifiers(connection, MAX_GROUP).is_ok();
                error::is_refusal(&error) || error::is_full(&error) && !has_identifiers
            } else {
                let has_changed = connection.total_changes() != changes;
                !has_changed && job.request.is_none() && error::is_refusal(&error)
            };
            if !can_undo {
                return Err(error);
            }
            if with_savepoint {
                connection.execute_batch("ROLLBACK TO job")?;
            }
            Err(error::of_write(connection, error).into())
        }
    };
    if with_savepoint {
        connection.execute_batch("RELEASE job")?;
    }
    Ok(outcome)
}

/// Inserts the animal of a job and its record.
///
/// A job without a savepoint does not look for its record, which would take some 4,000 instructions. A repeat then fails,
/// at the latest at the unique index of the records, and the caller runs the job again with a savepoint.
fn insert(
    statements: &mut Statements<'_>,
    Add { pet, request, .. }: &Add,
    has_savepoint: bool,
) -> Result<Outcome, Failure> {
    let stored = match request {
        Some(request) if has_savepoint => rows::find_record(statements, request.id)?,
        Some(_) | None => None,
    };
    let decision = request.map(|request| request.decide(stored.as_ref()));
    match decision.unwrap_or(IdempotencyDecision::Create) {
        IdempotencyDecision::Create => {}
        IdempotencyDecision::Replay(id) => return Ok(Ok(Stored { id, is_new: false })),
        IdempotencyDecision::Reused => return Ok(Err(AddError::IdempotencyKeyReused)),
    }
    if has_savepoint {
        rows::require_identifiers(statements.connection, 1)?;
    }
    let id = rows::insert(statements, pet)?;
    if let Some(request) = request {
        rows::write_record(statements, stored.as_ref(), &request.into_record(id))?;
    }
    Ok(Ok(Stored { id, is_new: true }))
}
