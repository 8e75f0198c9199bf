//! A model of the use cases in plain values.

use std::{collections::BTreeMap, time::Duration};

use petstore_domain::{AddError, Added, NewPet, Pet, PetId, Timestamp};

const A_DAY: Duration = Duration::from_hours(24);

/// The expected content of a store.
#[derive(Debug, Default)]
pub(crate) struct Model {
    /// The animals in the order of their identifiers, which start at 1.
    pub(crate) pets: Vec<Pet>,
    /// The animal and the time of each idempotency key.
    records: BTreeMap<u8, (Pet, Timestamp)>,
    pub(crate) keys: Vec<Key>,
}

/// An API key, whose name and secret are numbers.
#[derive(Debug)]
pub(crate) struct Key {
    pub(crate) name: u8,
    pub(crate) secret: u8,
    pub(crate) expires_at: Option<Timestamp>,
    pub(crate) is_revoked: bool,
}

impl Key {
    fn is_live(&self, now: Timestamp) -> bool {
        !self.is_revoked && self.expires_at.is_none_or(|expiry| now < expiry)
    }
}

impl Model {
    pub(crate) fn add(
        &mut self,
        pet: NewPet,
        idempotency: Option<u8>,
        now: Timestamp,
    ) -> Result<Added, AddError> {
        let record = idempotency.and_then(|key| self.records.get(&key));
        if let Some((recorded, _)) = record.filter(|(_, at)| *at > now.minus(A_DAY)) {
            let is_repeat = pet.with_id(recorded.id) == *recorded;
            let replayed = Added::Replayed(recorded.clone());
            return if is_repeat { Ok(replayed) } else { Err(AddError::IdempotencyKeyReused) };
        }
        let id = i64::try_from(self.pets.len()).unwrap() + 1;
        let pet = pet.with_id(PetId(id));
        self.pets.push(pet.clone());
        if let Some(key) = idempotency {
            self.records.insert(key, (pet.clone(), now));
        }
        Ok(Added::Created(pet))
    }

    /// Adds a key. Returns `false` if a live key has the same name.
    pub(crate) fn create_key(&mut self, name: u8, secret: u8, now: Timestamp) -> bool {
        let is_free = !self.has_live(name, now);
        if is_free {
            self.push_key(name, secret);
        }
        is_free
    }

    /// Rolls a key. Returns `false` if no live key has the name.
    pub(crate) fn roll_key(
        &mut self,
        name: u8,
        secret: u8,
        retire_at: Timestamp,
        now: Timestamp,
    ) -> bool {
        let known = self.has_live(name, now);
        if known {
            for key in self.keys.iter_mut().filter(|key| key.name == name && key.is_live(now)) {
                let end = key.expires_at.map_or(retire_at, |expiry| expiry.min(retire_at));
                key.expires_at = Some(end);
            }
            self.push_key(name, secret);
        }
        known
    }

    /// Revokes the keys of a name. Returns the number of newly revoked keys.
    pub(crate) fn revoke_keys(&mut self, name: u8) -> usize {
        let named = self.keys.iter_mut().filter(|key| key.name == name && !key.is_revoked);
        named.map(|key| key.is_revoked = true).count()
    }

    /// Returns whether a key must be granted.
    pub(crate) fn is_granted(&self, secret: u8, now: Timestamp) -> bool {
        self.keys.iter().any(|key| key.secret == secret && key.is_live(now))
    }

    fn has_live(&self, name: u8, now: Timestamp) -> bool {
        self.keys.iter().any(|key| key.name == name && key.is_live(now))
    }

    fn push_key(&mut self, name: u8, secret: u8) {
        self.keys.push(Key { name, secret, expires_at: None, is_revoked: false });
    }
}
