//! What a store should do, in its simplest words: the measure for random commands.

mod command;
mod keys;

use std::collections::HashMap;

use petstore_domain::{
    Fingerprint, IdempotencyRequest, KeyDigest, NewPet, Pet, PetId, PetPage, PetQuery, Timestamp,
};

pub(crate) use self::{command::Command, keys::KeyModel};

/// The catalogue as it should be. Which identifiers a store assigns is its own business, as long as
/// they grow: the model takes them from the store.
#[derive(Debug, Default)]
pub(crate) struct PetModel {
    pets: Vec<Pet>,
    records: HashMap<(KeyDigest, String), Record>,
}

#[derive(Debug)]
struct Record {
    fingerprint: Fingerprint,
    pet: Pet,
    at: Timestamp,
}

/// What an addition should come to.
#[derive(Debug, PartialEq)]
pub(crate) enum Due {
    Now,
    Before(Pet),
    Reused,
}

impl PetModel {
    pub(crate) fn due(&self, attempt: Option<&IdempotencyRequest>) -> Due {
        let record = attempt.and_then(|attempt| {
            let record = self.records.get(&key(attempt))?;
            (record.at > attempt.cutoff).then_some((record, attempt.fingerprint))
        });
        match record {
            None => Due::Now,
            Some((record, wanted)) if record.fingerprint == wanted => {
                Due::Before(record.pet.clone())
            }
            Some(_) => Due::Reused,
        }
    }

    pub(crate) fn add(&mut self, pet: Pet, attempt: Option<IdempotencyRequest>) {
        if let Some(attempt) = attempt {
            let IdempotencyRequest { fingerprint, at, .. } = attempt;
            let record = Record { fingerprint, pet: pet.clone(), at };
            self.records.insert(key(&attempt), record);
        }
        self.pets.push(pet);
    }

    pub(crate) fn highest(&self) -> Option<PetId> {
        self.pets.last().map(|pet| pet.id)
    }

    pub(crate) fn find(&self, id: PetId) -> Option<Pet> {
        self.pets.iter().find(|pet| pet.id == id).cloned()
    }

    /// The identifier of one of the animals, or one that none has.
    pub(crate) fn some_id(&self, number: u32) -> PetId {
        let index = number as usize % (self.pets.len() + 1);
        self.pets.get(index).map_or(PetId(i64::MAX - 1), |pet| pet.id)
    }

    pub(crate) fn page(&self, query: &PetQuery) -> PetPage {
        let matches = |pet: &&Pet| {
            Some(pet.id) > query.after && (query.status.is_none() || pet.status == query.status)
        };
        let mut matching = self.pets.iter().filter(matches);
        let pets = matching.by_ref().take(query.limit.get().into()).cloned().collect();
        PetPage { pets, more: matching.next().is_some() }
    }

    pub(crate) fn all(&self) -> Vec<Pet> {
        self.pets.clone()
    }

    pub(crate) fn forget(&mut self, expired: Timestamp) -> u32 {
        let before = self.records.len();
        self.records.retain(|_, record| record.at > expired);
        u32::try_from(before - self.records.len()).unwrap_or(u32::MAX)
    }
}

fn key(attempt: &IdempotencyRequest) -> (KeyDigest, String) {
    (attempt.idempotency.caller, attempt.idempotency.key.as_str().to_owned())
}

/// The animals that the commands add: few, so that they meet again.
pub(crate) fn animals() -> [NewPet; 4] {
    [0, 1, 2, 3].map(crate::samples::numbered)
}
