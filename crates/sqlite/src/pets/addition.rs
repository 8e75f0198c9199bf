//! An addition in a transaction of the writer.

use petstore_domain::{AddError, Added, IdempotencyDecision, IdempotencyRecord, NewPet, PetId};
use petstore_storage::writer::Add;

use crate::{
    connection::Statements,
    error::{self, Failure},
    pets::rows,
};

/// The outcome of an addition before the commit.
pub(crate) type Outcome = Result<Stored, AddError>;

/// An animal that an addition has stored, or has found stored.
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

/// Adds the animal of a job, unless the request is a repeat. A refused row fails this addition alone: a savepoint
/// undoes its changes. Another failure means that the whole transaction must be rolled back.
pub(crate) fn add_alone(statements: &mut Statements<'_>, job: &Add) -> Result<Outcome, Failure> {
    let connection = statements.connection;
    connection.execute_batch("SAVEPOINT job")?;
    let outcome = match add_once(statements, job) {
        // Nothing was written yet.
        Err(Failure::Answer(error)) => Err(error::of_archive(error).into()),
        Err(Failure::Sqlite(error)) if error::is_refusal(&error) => {
            connection.execute_batch("ROLLBACK TO job")?;
            Err(error::of_write(connection, error).into())
        }
        outcome => outcome?,
    };
    connection.execute_batch("RELEASE job")?;
    Ok(outcome)
}

fn add_once(statements: &mut Statements<'_>, job: &Add) -> Result<Outcome, Failure> {
    let mut stored = None;
    if let Some(request) = &job.request {
        stored = rows::find_record(statements, request.id)?;
        match request.decide(stored.as_ref()) {
            IdempotencyDecision::Create => {}
            IdempotencyDecision::Replay(id) => return Ok(Ok(Stored { id, is_new: false })),
            IdempotencyDecision::Reused => return Ok(Err(AddError::IdempotencyKeyReused)),
        }
    }
    rows::require_identifiers(statements.connection, 1)?;
    insert(statements, job, stored.as_ref())
}

/// Adds the animal of a job, and its record, which replaces `stored`.
///
/// Without `stored`, a repeat fails at the latest at the unique index of the records. The caller then runs the job
/// again with [`add_alone`]. Looking for the record first would take some 4,000 instructions.
pub(crate) fn insert(
    statements: &mut Statements<'_>,
    Add { pet, request, .. }: &Add,
    stored: Option<&IdempotencyRecord>,
) -> Result<Outcome, Failure> {
    let id = rows::insert(statements, pet)?;
    if let Some(request) = request {
        rows::write_record(statements, stored, &request.into_record(id))?;
    }
    Ok(Ok(Stored { id, is_new: true }))
}
