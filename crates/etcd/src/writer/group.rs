//! What one transaction makes of the additions that wait.

use std::collections::{HashMap, HashSet};

use petstore_domain::{
    AddError, Added, Corruption, IdempotencyDecision, IdempotencyId, IdempotencyRecord,
    IdempotencyRequest, NewPet, Pet, PetId, Writer as Who,
};
use tokio::{sync::oneshot, time::Instant};

use crate::{
    core::{HEAD_OPS, MAX_OPS, Plan},
    error::Failure,
    head::{Head, View},
    rows::{self, Expiry, Keys, Puts, StoredPet},
};

/// An animal to be added, and who waits for it.
#[derive(Debug)]
pub(super) struct Job {
    pub(super) pet: NewPet,
    pub(super) request: Option<IdempotencyRequest>,
    /// Until then its caller waits.
    pub(super) deadline: Instant,
    pub(super) caller: oneshot::Sender<Result<Added, AddError>>,
}

impl Job {
    pub(super) fn answer(self, answer: Result<Added, AddError>) {
        // The caller's future may have been dropped; the addition has happened whole all the same.
        let _ = self.caller.send(answer);
    }
}

/// What becomes of an addition.
#[derive(Clone, Debug)]
pub(super) enum Outcome {
    Added(Added),
    /// The animal has to be read.
    Replay(PetId),
    Reused,
    Failed(Failure),
}

/// Decides on the first additions: one outcome for each that fits into the transaction.
pub(super) fn plan<'a>(
    keys: &Keys,
    jobs: impl Iterator<Item = &'a Job>,
    view: &View,
    name: u64,
) -> Result<Plan<Vec<Outcome>>, Failure> {
    view.head.permit(Who::Service)?;
    let known = view.found.iter().flatten().map(|entry| (entry.name(), rows::record(entry)));
    let mut group = Group {
        keys,
        head: view.head.clone(),
        known: known.collect(),
        written: HashSet::new(),
        created: HashMap::new(),
        puts: Puts::new(),
        expiry: Expiry::new(),
    };
    let mut outcomes = Vec::new();
    for job in jobs {
        let Some(outcome) = group.take(job) else { break };
        outcomes.push(outcome.unwrap_or_else(Outcome::Failed));
    }
    if group.created.is_empty() {
        return Ok(Plan::Done(outcomes));
    }
    group.head.renew()?;
    rows::put_expiry(&mut group.puts, keys, name, &group.expiry);
    Ok(Plan::Write(Box::new(group.head), group.puts, Vec::new(), outcomes))
}

struct Group<'a> {
    keys: &'a Keys,
    head: Head,
    /// The records that are stored, by the names of their keys, and those that the group adds.
    known: HashMap<String, Result<IdempotencyRecord, Corruption>>,
    /// Of them, those that the group adds.
    written: HashSet<IdempotencyId>,
    created: HashMap<PetId, Pet>,
    puts: Puts,
    expiry: Expiry,
}

impl Group<'_> {
    /// Decides on one addition. `None` if it is one for the next transaction.
    fn take(&mut self, Job { pet, request, .. }: &Job) -> Option<Result<Outcome, Failure>> {
        let stored = request.and_then(|request| self.known.get(&request.id.to_string()));
        let stored = match stored.cloned().transpose() {
            Ok(stored) => stored.map(|record| (record.fingerprint, record.pet, record.at)),
            Err(corruption) => return Some(Err(corruption.into())),
        };
        let decision = request.map_or(IdempotencyDecision::Create, |it| it.decide(stored));
        match decision {
            IdempotencyDecision::Reused => return Some(Ok(Outcome::Reused)),
            IdempotencyDecision::Replay(id) => {
                let replayed = self.created.get(&id).cloned().map(Added::Replayed);
                return Some(Ok(replayed.map_or(Outcome::Replay(id), Outcome::Added)));
            }
            IdempotencyDecision::Create => {}
        }
        // An animal, its entry of its status and its record, and the entry by which records are purged.
        let is_full = self.puts.len() + 3 + 1 + HEAD_OPS > MAX_OPS;
        // A transaction puts a key once.
        let is_second = request.is_some_and(|request| self.written.contains(&request.id));
        if is_full || is_second {
            return None;
        }
        let id = match self.head.next_pet() {
            Ok(id) => id,
            Err(failure) => return Some(Err(failure)),
        };
        let pet = pet.clone().with_id(id);
        let record = request.map(|request| request.into_record(id));
        let records = record.iter().map(|record| record.id.to_string()).collect();
        StoredPet { pet: pet.clone(), records }.put(&mut self.puts, self.keys, true);
        if let Some(record) = record {
            rows::put_record(&mut self.puts, self.keys, &mut self.expiry, &record);
            self.known.insert(record.id.to_string(), Ok(record));
            self.written.insert(record.id);
        }
        self.created.insert(id, pet.clone());
        Some(Ok(Outcome::Added(Added::Created(pet))))
    }
}
