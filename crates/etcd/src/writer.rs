//! Additions: one task writes them in groups, one transaction at a time.

#[cfg(test)]
mod tests;

use std::sync::Arc;

use petstore_domain::{AddError, Added, IdempotencyDecision, StoreError, WriterRole};
use petstore_storage::writer::{Add, Job, Jobs};

use crate::{core::Core, draft::Draft, error::is_too_many_ops, head};

type Outcome = Result<Added, AddError>;

/// Writes additions until the queue ends. A failed write does not end the task.
pub(crate) async fn run(core: Arc<Core>, mut jobs: Jobs) {
    let mut held: Vec<Add> = Vec::new();
    while let Some(group) = jobs.next(held.len()).await {
        held.extend(group.into_iter().map(|Job::Add(add)| add));
        write(&core, &mut held).await;
    }
}

/// Writes the first additions of `held`, as many as one transaction holds. Replies to them, and removes them.
async fn write(core: &Core, held: &mut Vec<Add>) {
    let max_ops = core.max_ops();
    let count = held.len().min(max_ops.rows());
    let adds = &held[..count];
    let records = adds.iter().filter_map(|add| add.request);
    let records: Vec<_> = records.map(|request| core.keys.record(&request.id)).collect();
    let plan = |draft: &mut Draft<'_>| plan(adds, draft);
    match core.commit(Some(WriterRole::Service), &records, true, plan).await {
        Ok(outcomes) => {
            for (add, outcome) in held.drain(..count).zip(outcomes) {
                add.reply.send(outcome);
            }
        }
        // The additions stay in `held`, and the next transaction is smaller.
        Err(error) if is_too_many_ops(&error) && core.max_ops() != max_ops => {}
        Err(error) => {
            for add in held.drain(..count) {
                add.reply.send(Err(error.clone().into()));
            }
        }
    }
}

/// Decides on additions in their order.
fn plan(adds: &[Add], draft: &mut Draft<'_>) -> Result<Vec<Outcome>, StoreError> {
    let outcomes: Vec<_> = adds.iter().map(|add| decide(add, draft)).collect();
    if outcomes.iter().any(|outcome| matches!(outcome, Ok(Added::Created(_)))) {
        draft.head.version = head::random()?;
    }
    Ok(outcomes)
}

/// Decides on one addition.
fn decide(Add { pet, request, reply }: &Add, draft: &mut Draft<'_>) -> Outcome {
    if reply.is_abandoned() {
        // The receiver of this outcome is gone.
        return Err(StoreError::unavailable("its caller has gone away").into());
    }
    let stored = request.map(|request| draft.record(request.id)).transpose()?.flatten();
    match request.map_or(IdempotencyDecision::Create, |it| it.decide(stored.as_ref())) {
        IdempotencyDecision::Reused => return Err(AddError::IdempotencyKeyReused),
        IdempotencyDecision::Replay(id) => return Ok(Added::Replayed(pet.clone().with_id(id))),
        IdempotencyDecision::Create => {}
    }
    let pet = pet.clone().with_id(draft.head.next_pet()?);
    draft.put_pet(&pet);
    if let Some(request) = request {
        draft.put_record(&request.into_record(pet.id), stored.as_ref());
    }
    Ok(Added::Created(pet))
}
