//! Additions: one task writes them in groups, one transaction at a time.

#[cfg(test)]
mod tests;

use std::sync::Arc;

use petstore_domain::{AddError, Added, IdempotencyDecision, StoreError, WriterRole};
use petstore_storage::writer::{Add, Job, Jobs};

use crate::{core::Core, draft::Draft, error::is_too_many_ops};

type Outcome = Result<Added, AddError>;

/// Writes additions until the queue ends. A failed write does not end the task.
pub(crate) async fn run(core: Arc<Core>, mut jobs: Jobs) {
    let mut held: Vec<Add> = Vec::new();
    while let Some(group) = jobs.next(held.len()).await {
        held.extend(group.into_iter().map(|Job::Add(add)| add));
        held.retain(|add| !add.reply.is_abandoned());
        if !held.is_empty() {
            write(&core, &mut held).await;
        }
    }
}

/// Writes as many of the first additions as one transaction holds, and replies to them.
async fn write(core: &Core, held: &mut Vec<Add>) {
    let max_ops = core.max_ops();
    let adds = &held[..held.len().min(max_ops.rows())];
    let records = adds.iter().filter_map(|add| add.request);
    let records: Vec<_> = records.map(|request| core.keys.record(&request.id)).collect();
    let mut tried = adds.len();
    let written = core.commit(&records, true, |draft| {
        let outcomes = plan(adds, draft)?;
        tried = outcomes.len();
        Ok(outcomes)
    });
    match written.await {
        Ok(outcomes) => {
            for (add, outcome) in held.drain(..outcomes.len()).zip(outcomes) {
                add.reply.send(outcome);
            }
        }
        // The additions stay in `held`, and the next transaction is smaller.
        Err(error) if is_too_many_ops(&error) && core.max_ops() != max_ops => {}
        Err(error) => {
            for add in held.drain(..tried) {
                add.reply.send(Err(error.clone().into()));
            }
        }
    }
}

/// Decides on additions in their order. Returns the outcomes of the additions that fit into the transaction.
fn plan(adds: &[Add], draft: &mut Draft<'_>) -> Result<Vec<Outcome>, StoreError> {
    let outcomes: Vec<_> = adds.iter().map_while(|add| decide(add, draft).transpose()).collect();
    if outcomes.iter().any(|outcome| matches!(outcome, Ok(Added::Created(_)))) {
        draft.head.renew()?;
    }
    Ok(outcomes)
}

/// Decides on one addition. `None` leaves it for the next transaction.
fn decide(
    Add { pet, request, reply }: &Add,
    draft: &mut Draft<'_>,
) -> Result<Option<Added>, AddError> {
    draft.permit(WriterRole::Service)?;
    if reply.is_abandoned() {
        // The receiver of this outcome is gone.
        return Err(StoreError::unavailable("its caller has gone away").into());
    }
    let stored = request.map(|request| draft.record(&request.id)).transpose()?.flatten();
    match request.map_or(IdempotencyDecision::Create, |it| it.decide(stored.as_ref())) {
        IdempotencyDecision::Reused => return Err(AddError::IdempotencyKeyReused),
        IdempotencyDecision::Replay(id) => {
            return Ok(Some(Added::Replayed(pet.clone().with_id(id))));
        }
        IdempotencyDecision::Create => {}
    }
    // A transaction can change an entry once.
    if request.is_some_and(|it| draft.changes.contains_key(&draft.keys.record(&it.id))) {
        return Ok(None);
    }
    let pet = pet.clone().with_id(draft.head.next_pet()?);
    draft.put_pet(&pet);
    if let Some(request) = request {
        draft.put_record(&request.into_record(pet.id), stored.as_ref());
    }
    Ok(Some(Added::Created(pet)))
}
