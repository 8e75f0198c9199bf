//! A model of the catalogue, with the expected answers to random commands.

mod command;
mod keys;

use std::collections::HashMap;

use petstore_domain::{
    Fingerprint, IdempotencyId, IdempotencyRequest, Pet, PetId, PetPage, PetQuery, PetStatus,
    Timestamp,
};

pub(crate) use self::{command::Command, keys::KeyModel};

/// The expected catalogue. The model takes identifiers from the store, which may assign any ascending ones.
#[derive(Debug, Default)]
pub(crate) struct PetModel {
    pets: Vec<Pet>,
    records: HashMap<IdempotencyId, Record>,
}

#[derive(Debug)]
struct Record {
    fingerprint: Fingerprint,
    pet: Pet,
    at: Timestamp,
}

/// The expected outcome of an addition.
#[derive(Debug, PartialEq)]
pub(crate) enum Addition {
    Created,
    Replayed(Pet),
    Reused,
}

impl PetModel {
    /// Returns a catalogue of these animals, in ascending order.
    pub(crate) fn of(pets: &[Pet]) -> Self {
        Self { pets: pets.to_vec(), ..Self::default() }
    }

    /// Returns the expected outcome of adding an animal with `request`. Repeats the domain's rule, because adapters
    /// call the domain. A fault in the domain's rule is therefore noticed.
    pub(crate) fn addition(&self, request: Option<&IdempotencyRequest>) -> Addition {
        let live = request.and_then(|request| {
            let record = self.records.get(&request.id)?;
            (record.at > request.cutoff).then_some((record, request.fingerprint))
        });
        match live {
            None => Addition::Created,
            Some((record, fingerprint)) if record.fingerprint == fingerprint => {
                Addition::Replayed(record.pet.clone())
            }
            Some(_) => Addition::Reused,
        }
    }

    pub(crate) fn add(&mut self, pet: Pet, request: Option<IdempotencyRequest>) {
        if let Some(request) = request {
            let IdempotencyRequest { id, fingerprint, at, .. } = request;
            let record = Record { fingerprint, pet: pet.clone(), at };
            self.records.insert(id, record);
        }
        self.pets.push(pet);
    }

    pub(crate) fn highest(&self) -> Option<PetId> {
        self.pets.last().map(|pet| pet.id)
    }

    pub(crate) fn page(&self, query: &PetQuery) -> PetPage {
        let matches = |pet: &&Pet| {
            Some(pet.id) > query.after && (query.status.is_none() || pet.status == query.status)
        };
        let mut matching = self.pets.iter().filter(matches);
        let pets = matching.by_ref().take(query.limit.get().into()).cloned().collect();
        PetPage { pets, more: matching.next().is_some() }
    }

    pub(crate) fn all(&self, status: Option<PetStatus>) -> Vec<Pet> {
        let matches = |pet: &&Pet| status.is_none() || pet.status == status;
        self.pets.iter().filter(matches).cloned().collect()
    }

    pub(crate) fn purge(&mut self, cutoff: Timestamp) -> u32 {
        let before = self.records.len();
        self.records.retain(|_, record| record.at > cutoff);
        u32::try_from(before - self.records.len()).unwrap_or(u32::MAX)
    }
}
