//! Additions: one task, one transaction at a time, group commit.

#[cfg(test)]
mod tests;

use std::{
    collections::{HashMap, HashSet},
    sync::Arc,
};

use petstore_domain::{
    AddError, Added, Corruption, IdempotencyDecision, IdempotencyId, IdempotencyRecord,
    IdempotencyRequest, NewPet, StoreError, WriterRole,
};
use petstore_storage::writer::{Add, Job, Jobs};

use crate::{
    core::{Core, ENTRY_OPS, Plan},
    error::Failure,
    head::{Head, HeadRead},
    rows::{self, Changes, Expiry, Keys},
};

/// The largest number of additions in one transaction.
pub(crate) const MAX_GROUP: usize = ENTRY_OPS;

type Outcome = Result<Added, AddError>;

/// Writes additions until there will be no more. A failed write does not end the task.
pub(crate) async fn run(core: Arc<Core>, mut jobs: Jobs) {
    let mut held: Vec<Add> = Vec::new();
    while let Some(group) = jobs.next(held.len()).await {
        held.extend(group.into_iter().map(|job| match job {
            Job::Add(add) => add,
            Job::Other(never) => match never {},
        }));
        held.retain(|add| !add.reply.is_abandoned());
        if !held.is_empty() {
            write(&core, &mut held).await;
        }
    }
}

/// Writes as many of the first additions as one transaction holds, and answers them.
async fn write(core: &Core, held: &mut Vec<Add>) {
    let adds = &held[..fitting(held)];
    let records = adds.iter().filter_map(|add| add.request);
    let records: Vec<_> = records.map(|request| core.keys.record(&request.id)).collect();
    let mut tried = adds.len();
    let written = core.commit(&records, true, |read, name| {
        let planned = plan(&core.keys, adds, read, name)?;
        let (Plan::Done(outcomes) | Plan::Write(_, _, outcomes)) = &planned;
        tried = outcomes.len();
        Ok::<_, Failure>(planned)
    });
    match written.await {
        Ok(outcomes) => {
            for (add, outcome) in held.drain(..outcomes.len()).zip(outcomes) {
                add.reply.send(outcome);
            }
        }
        Err(failure) => {
            for add in held.drain(..tried) {
                add.reply.send(Err(failure.clone().into()));
            }
        }
    }
}

/// Returns how many of the first additions one transaction holds.
fn fitting(adds: &[Add]) -> usize {
    let (mut ops, mut has_key) = (0, false);
    let fits = |add: &&Add| {
        ops += operations(&add.pet, add.request);
        has_key |= add.request.is_some();
        ops + usize::from(has_key) <= ENTRY_OPS
    };
    adds.iter().take_while(fits).count()
}

/// Returns the number of entries of an addition: the animal, by its status too, the record, and by its animal too.
fn operations(pet: &NewPet, request: Option<IdempotencyRequest>) -> usize {
    1 + usize::from(pet.status.is_some()) + 2 * usize::from(request.is_some())
}

/// Decides on additions: one outcome for each that the transaction holds, in their order.
fn plan(
    keys: &Keys,
    adds: &[Add],
    read: &HeadRead,
    name: u64,
) -> Result<Plan<Vec<Outcome>>, Failure> {
    read.head.permit_write(WriterRole::Service)?;
    let mut group = Group {
        keys,
        head: read.head.clone(),
        known: read.found.iter().map(|entry| (entry.name(), rows::record(entry))).collect(),
        written: HashSet::new(),
        changes: Changes::new(),
        expiry: Expiry::new(),
    };
    let mut outcomes = Vec::new();
    for add in adds {
        let Some(outcome) = group.take(add) else { break };
        outcomes.push(outcome);
    }
    if group.changes.is_empty() {
        return Ok(Plan::Done(outcomes));
    }
    group.head.renew()?;
    rows::put_expiry(&mut group.changes, keys, name, &group.expiry);
    Ok(Plan::Write(Box::new(group.head), group.changes, outcomes))
}

struct Group<'a> {
    keys: &'a Keys,
    head: Head,
    /// The records that are stored or that the group adds, by the names of their keys.
    known: HashMap<String, Result<IdempotencyRecord, Corruption>>,
    /// The records that the group adds.
    written: HashSet<IdempotencyId>,
    changes: Changes,
    expiry: Expiry,
}

impl Group<'_> {
    /// Decides on one addition. `None` leaves it for the next transaction.
    fn take(&mut self, Add { pet, request, reply }: &Add) -> Option<Outcome> {
        if reply.is_abandoned() {
            // Nobody receives this.
            return Some(Err(StoreError::unavailable("its caller does not wait any more").into()));
        }
        let stored = request.and_then(|request| self.known.get(&request.id.to_string()));
        let stored = match stored.cloned().transpose() {
            Ok(stored) => stored,
            Err(corruption) => return Some(Err(StoreError::from(corruption).into())),
        };
        let decision = request.map_or(IdempotencyDecision::Create, |it| it.decide(stored.as_ref()));
        match decision {
            IdempotencyDecision::Reused => return Some(Err(AddError::IdempotencyKeyReused)),
            IdempotencyDecision::Replay(id) => {
                return Some(Ok(Added::Replayed(pet.clone().with_id(id))));
            }
            IdempotencyDecision::Create => {}
        }
        // An expired record is deleted from the entries by animal, and one entry is for the purge.
        let ops = operations(pet, *request)
            + usize::from(stored.is_some())
            + usize::from(request.is_some() || !self.expiry.is_empty());
        // A transaction puts a key once.
        let is_second = request.is_some_and(|request| self.written.contains(&request.id));
        if self.changes.len() + ops > ENTRY_OPS || is_second {
            return None;
        }
        let id = match self.head.next_pet() {
            Ok(id) => id,
            Err(failure) => return Some(Err(failure.into())),
        };
        let pet = pet.clone().with_id(id);
        rows::put_pet(&mut self.changes, self.keys, &pet);
        if let Some(record) = request.map(|request| request.into_record(id)) {
            let (changes, expiry) = (&mut self.changes, &mut self.expiry);
            rows::put_record(changes, self.keys, expiry, &record, stored.as_ref());
            self.known.insert(record.id.to_string(), Ok(record));
            self.written.insert(record.id);
        }
        Some(Ok(Added::Created(pet)))
    }
}
