//! What each addition of a group is to do, and what became of it.

use std::collections::{BTreeMap, HashMap};

use petstore_domain::{
    AddError, Added, IdempotencyDecision, IdempotencyRequest, PetId, StoreError,
};
use tokio_postgres::{Error, Row};

use super::job::Job;
use crate::{error::StoreFailure, pets::idempotency};

/// What each addition of a group is to do.
pub(super) struct Plan<'a> {
    pub(super) group: &'a [Job],
    /// The first addition of each id. All instances go through the ids in this order,
    /// so that they wait for one another in a line and not in a circle.
    pub(super) first: BTreeMap<&'a [u8], usize>,
    /// The identifiers that were reserved together with the ids of these additions.
    reserved: HashMap<usize, PetId>,
}

/// What one addition is to do.
pub(super) enum Step<'a> {
    /// Insert the animal, under the identifier that was reserved with its id if it has one.
    Insert(Option<PetId>),
    /// Find the record with its id, which another addition has stored: one of another instance, an
    /// earlier one, or one of this group.
    FindRecord(&'a IdempotencyRequest),
}

/// What became of one addition.
pub(super) enum Outcome {
    Answer(Result<Added, AddError>),
    /// The record with its id has expired or is gone since.
    Retry,
}

impl<'a> Plan<'a> {
    /// Nothing is reserved yet.
    pub(super) fn new(group: &'a [Job]) -> Self {
        let mut first = BTreeMap::new();
        for (index, job) in group.iter().enumerate() {
            if let Some(request) = &job.request {
                first.entry(&request.id.0[..]).or_insert(index);
            }
        }
        Self { group, first, reserved: HashMap::new() }
    }

    /// Takes the ids that were free, each with the identifier of its animal.
    pub(super) fn reserve(&mut self, rows: &[Row]) -> Result<(), Error> {
        for row in rows {
            if let Some(index) = self.first.get(row.try_get::<_, &[u8]>(0)?) {
                self.reserved.insert(*index, PetId(row.try_get(1)?));
            }
        }
        Ok(())
    }

    /// One step for each addition.
    pub(super) fn steps(&self) -> impl Iterator<Item = Step<'a>> {
        let step = |(index, job): (usize, &'a Job)| match &job.request {
            None => Step::Insert(None),
            Some(request) => match self.reserved.get(&index) {
                Some(id) => Step::Insert(Some(*id)),
                None => Step::FindRecord(request),
            },
        };
        self.group.iter().enumerate().map(step)
    }

    /// What became of each addition, by the identifiers of the animals inserted, in their order, and
    /// the records found.
    pub(super) fn outcomes(&self, inserted: &[Row], found: &[Row]) -> Result<Vec<Outcome>, Error> {
        let mut inserted = inserted.iter();
        let mut records = HashMap::new();
        for row in found {
            records.insert(row.try_get::<_, &[u8]>(0)?, row);
        }
        let mut outcomes = Vec::with_capacity(self.group.len());
        for (job, step) in self.group.iter().zip(self.steps()) {
            outcomes.push(match step {
                Step::Insert(_) => match inserted.next() {
                    Some(row) => {
                        let pet = job.pet.clone().with_id(PetId(row.try_get(0)?));
                        Outcome::Answer(Ok(Added::Created(pet)))
                    }
                    None => Outcome::Answer(Err(StoreFailure::Contention.into())),
                },
                Step::FindRecord(request) => {
                    by_record(request, records.get(&request.id.0[..]).copied())
                }
            });
        }
        Ok(outcomes)
    }
}

/// What the record with the id of `request` means for it.
fn by_record(request: &IdempotencyRequest, row: Option<&Row>) -> Outcome {
    let replay = |row| {
        let record = idempotency::record(row)?;
        let stored = (record.fingerprint, record.pet, record.at);
        Ok(match request.decide(Some(stored)) {
            IdempotencyDecision::Create => Outcome::Retry,
            IdempotencyDecision::Replay(_) => {
                let pet = idempotency::pet_of_record(row, &record)?;
                Outcome::Answer(Ok(Added::Replayed(pet)))
            }
            IdempotencyDecision::Reused => Outcome::Answer(Err(AddError::IdempotencyKeyReused)),
        })
    };
    let corrupt = |error: StoreError| Outcome::Answer(Err(error.into()));
    row.map_or(Outcome::Retry, |row| replay(row).unwrap_or_else(corrupt))
}
