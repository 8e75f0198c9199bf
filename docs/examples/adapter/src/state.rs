//! The state of the store after all lines of the file.

use std::collections::BTreeMap;

use petstore_domain::{
    ApiKey, CatalogueVersion, IdempotencyId, IdempotencyRecord, KeyId, KeyRevision, Pet, PetId,
    Phase, StoreError, StoreId, StoreState,
};

use crate::line::{Group, Write};

#[derive(Clone)]
pub(crate) struct State {
    pub(crate) pets: BTreeMap<PetId, Pet>,
    /// The highest identifier of an animal that was ever assigned or stored; 0 if there is none.
    pub(crate) highest_pet: i64,
    pub(crate) records: BTreeMap<IdempotencyId, IdempotencyRecord>,
    pub(crate) keys: BTreeMap<KeyId, ApiKey>,
    /// The highest identifier of a key that was ever assigned or stored; 0 if there is none.
    pub(crate) highest_key: i64,
    /// The random number of the last line that changed animals or the state.
    pub(crate) version: CatalogueVersion,
    /// The random number of the last line that changed keys.
    pub(crate) key_revision: KeyRevision,
    pub(crate) handover: StoreState,
}

impl State {
    /// Returns the state of a file without lines.
    pub(crate) fn empty() -> Self {
        let phase = Phase::Open { from: None };
        Self {
            pets: BTreeMap::new(),
            highest_pet: 0,
            records: BTreeMap::new(),
            keys: BTreeMap::new(),
            highest_key: 0,
            version: CatalogueVersion(0),
            key_revision: KeyRevision(0),
            handover: StoreState { id: StoreId([0; 16]), revision: 0, rewrites: 0, phase },
        }
    }

    /// Applies one line of the file.
    pub(crate) fn apply(&mut self, Group { random, writes }: Group) {
        self.renew(random, &writes);
        for write in writes {
            self.apply_write(write);
        }
    }

    /// Sets the version to `random` if the writes change animals or the state, and the key revision if they save keys.
    fn renew(&mut self, random: u128, writes: &[Write]) {
        let any = |is: fn(&Write) -> bool| writes.iter().any(is);
        if any(|write| matches!(write, Write::Pet(_) | Write::State(_))) {
            self.version = CatalogueVersion(random);
        }
        if any(|write| matches!(write, Write::Key(_) | Write::RemovedKey(_) | Write::Saved)) {
            self.key_revision = KeyRevision(random);
        }
    }

    fn apply_write(&mut self, write: Write) {
        match write {
            Write::Pet(pet) => {
                self.highest_pet = self.highest_pet.max(pet.id.0);
                self.pets.insert(pet.id, pet);
            }
            Write::Saved => {}
            Write::Rewrite => self.handover.rewrites += 1,
            Write::HighestPet(id) => self.highest_pet = self.highest_pet.max(id),
            Write::HighestKey(id) => self.highest_key = self.highest_key.max(id),
            Write::Record(record) => drop(self.records.insert(record.id, record)),
            Write::PurgedRecord(id) => drop(self.records.remove(&id)),
            Write::Key(key) => {
                self.highest_key = self.highest_key.max(key.id.0);
                self.keys.insert(key.id, key);
            }
            Write::UsedKey(id, at) => {
                if let Some(key) = self.keys.get_mut(&id) {
                    key.last_used_at = key.last_used_at.max(Some(at));
                }
            }
            Write::RemovedKey(id) => drop(self.keys.remove(&id)),
            Write::State(state) => {
                self.handover = StoreState { rewrites: self.handover.rewrites, ..state };
            }
        }
    }

    /// Returns the identifier after the highest identifier. Refuses if no identifier is left.
    pub(crate) fn next_pet(&self) -> Result<PetId, StoreError> {
        let next = self.highest_pet.checked_add(1).map(PetId);
        next.ok_or_else(|| StoreError::refused("no identifier is left"))
    }
}

/// A group of writes that is not on the disk yet, and the state after them.
pub(crate) struct Draft {
    pub(crate) state: State,
    pub(crate) group: Group,
}

impl Draft {
    /// Begins a group. A write of animals or of the state sets the version to `random`, and a write of keys sets the key
    /// revision to `random`.
    pub(crate) fn new(state: State, random: u128) -> Self {
        Self { state, group: Group { random, writes: Vec::new() } }
    }

    /// Adds a write to the group. A job must not fail after its first write, except within [`Self::or_nothing`].
    pub(crate) fn write(&mut self, write: Write) {
        self.state.renew(self.group.random, std::slice::from_ref(&write));
        self.state.apply_write(write.clone());
        self.group.writes.push(write);
    }

    /// Runs a job that may fail after some of its writes. A failed job leaves no write.
    pub(crate) fn or_nothing<T, E>(
        &mut self,
        job: impl FnOnce(&mut Self) -> Result<T, E>,
    ) -> Result<T, E> {
        let (state, length) = (self.state.clone(), self.group.writes.len());
        let result = job(self);
        if result.is_err() {
            self.state = state;
            self.group.writes.truncate(length);
        }
        result
    }
}
