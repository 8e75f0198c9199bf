//! What each addition of a group is to do, and what has become of it.

use std::collections::{HashMap, HashSet};

use petstore_domain::{
    AddError, Added, Fingerprint, IdempotencyRequest, NewPet, Pet, PetId, StoreError,
};
use tokio_postgres::{Error, Row};

use crate::{
    error::corruption,
    pets::{
        attempts::{self, Name, Record},
        rows,
    },
    writer::addition::Addition,
};

/// What each addition of a group is to do.
pub(super) struct Plan<'a> {
    pub(super) group: &'a [Addition],
    /// The first addition of each idempotency key.
    pub(super) leaders: HashMap<Name<'a>, usize>,
    /// The identifiers that were reserved together with the keys of these additions.
    pub(super) claimed: HashMap<usize, PetId>,
}

/// What has become of one addition.
pub(in crate::writer) enum Outcome {
    Answer(Result<Added, AddError>),
    /// Its idempotency record was there and then it was not.
    Again,
}

/// How one addition is done.
pub(super) enum Part<'a> {
    /// Without an idempotency key.
    Plain,
    /// The holder of its key.
    Claimed(PetId),
    /// Somebody else holds its key: another instance, an addition before, or one of this group.
    Repeat(&'a IdempotencyRequest),
}

impl<'a> Plan<'a> {
    /// Nothing is reserved yet.
    pub(super) fn of(group: &'a [Addition]) -> Self {
        let mut leaders = HashMap::new();
        for (index, addition) in group.iter().enumerate() {
            if let Some(attempt) = &addition.attempt {
                leaders.entry(attempts::name(attempt)).or_insert(index);
            }
        }
        Self { group, leaders, claimed: HashMap::new() }
    }

    pub(super) fn part(&self, index: usize) -> Part<'a> {
        let Some(attempt) = &self.group[index].attempt else { return Part::Plain };
        self.claimed.get(&index).map_or(Part::Repeat(attempt), |id| Part::Claimed(*id))
    }

    /// What has become of each, from the animals inserted and the records found.
    pub(super) fn outcomes(&self, inserted: &[Row], found: &[Row]) -> Result<Vec<Outcome>, Error> {
        let mut new = NewIds::of(inserted, self)?;
        let mut records = HashMap::new();
        for row in found {
            records.insert(attempts::name_of(row)?, Record::of(row)?);
        }
        let outcome = |(index, addition): (usize, &Addition)| match self.part(index) {
            Part::Plain => Outcome::Answer(new.take(&addition.pet)),
            Part::Claimed(id) => Outcome::Answer(Ok(added(&addition.pet, id))),
            Part::Repeat(attempt) => records
                .get(&attempts::name(attempt))
                .filter(|record| record.created_at > attempt.cutoff)
                .map_or(Outcome::Again, |record| Outcome::Answer(repeated(attempt, record))),
        };
        Ok(self.group.iter().enumerate().map(outcome).collect())
    }
}

fn added(pet: &NewPet, id: PetId) -> Added {
    Added::Created(pet.clone().with_id(id))
}

fn repeated(attempt: &IdempotencyRequest, record: &Record<'_>) -> Result<Added, AddError> {
    if record.fingerprint != attempt.fingerprint.0 {
        return Err(AddError::IdempotencyKeyReused);
    }
    Ok(Added::Replayed(record.pet().map_err(StoreError::from)?))
}

/// The identifiers of animals that were inserted without one, found by what is in them: no engine
/// promises that rows come back in the order in which they were sent, and animals that are equal do
/// not mind.
struct NewIds(HashMap<[u8; 32], Vec<PetId>>);

impl NewIds {
    fn of(rows: &[Row], plan: &Plan<'_>) -> Result<Self, Error> {
        let claimed: HashSet<i64> = plan.claimed.values().map(|id| id.0).collect();
        let mut ids: HashMap<_, Vec<_>> = HashMap::new();
        for row in rows.iter().rev() {
            let id = row.try_get(0)?;
            if let Ok(Pet { name, category_id, status, .. }) = rows::pet(row, 0)
                && !claimed.contains(&id)
            {
                let content = Fingerprint::new(&NewPet { name, category_id, status }).0;
                ids.entry(content).or_default().push(PetId(id));
            }
        }
        Ok(Self(ids))
    }

    fn take(&mut self, pet: &NewPet) -> Result<Added, AddError> {
        let id = self.0.get_mut(&Fingerprint::new(pet).0).and_then(Vec::pop);
        let changed = || corruption("an animal", "it comes back as it was written");
        id.map(|id| added(pet, id)).ok_or_else(|| StoreError::from(changed()).into())
    }
}
