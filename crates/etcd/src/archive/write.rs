//! One batch, as one transaction.

use std::collections::{BTreeMap, BTreeSet};

use petstore_domain::{
    Batch, IdempotencyId, IdempotencyRecord, PetId, Resolution, RestoreError, Written,
};

use crate::{
    api_keys::Stored,
    core::{Core, Plan},
    error::Failure,
    head::{Head, View},
    kv::{KeyValue, Range},
    rows::{self, Expiry, Keys, Puts, StoredPet},
};

pub(super) async fn write(core: &Core, batch: &Batch) -> Result<Written, RestoreError> {
    let keys = &core.keys;
    let pets: BTreeSet<PetId> = batch.pets.iter().map(|pet| pet.id).collect();
    let others = batch.records.iter().map(|record| record.pet).filter(|id| !pets.contains(id));
    let others: BTreeSet<PetId> = others.collect();
    let records = batch.records.iter().map(|record| record.id);
    let records: BTreeSet<_> = records.chain(batch.request.iter().map(|it| it.id)).collect();
    // What is mostly new is first written as if nothing of it were there.
    let is_new = batch.keys.is_empty() && others.is_empty();
    let pets = pets.into_iter().chain(others).map(|id| keys.pet(None, id));
    let places: Vec<_> = pets.chain(records.iter().map(|id| keys.record(id))).collect();
    let mut ranges: Vec<_> = places.iter().map(|key| Range::one(key)).collect();
    if !batch.keys.is_empty() {
        ranges.push(Range::after(None, &keys.folder("keys")));
    }
    core.commit(&ranges, is_new.then_some(&*places), |view, group| {
        view.head.permit(batch.writer)?;
        let mut writing = Writing::new(keys, view)?;
        writing.write_pets(batch)?;
        writing.add_pets(batch)?;
        writing.write_keys(batch)?;
        writing.write_records(batch)?;
        writing.finish(group)
    })
    .await
}

/// A batch on its way into a transaction.
struct Writing<'a> {
    keys: &'a Keys,
    head: Head,
    puts: Puts,
    /// What is there, and what the batch makes of it.
    pets: BTreeMap<PetId, StoredPet>,
    records: BTreeMap<IdempotencyId, IdempotencyRecord>,
    key_entries: Vec<KeyValue>,
    /// Animals that are written, and whether for the first time.
    changed: BTreeMap<PetId, bool>,
    expiry: Expiry,
    added: u64,
}

impl<'a> Writing<'a> {
    fn new(keys: &'a Keys, view: &View) -> Result<Self, Failure> {
        let [animals, of_records] = [keys.pets(None), keys.folder("records")];
        let (mut pets, mut records, mut key_entries) =
            (BTreeMap::new(), BTreeMap::new(), Vec::new());
        for entry in view.found.iter().flatten() {
            let key = entry.key();
            if key.starts_with(&animals) {
                let stored = StoredPet::from_entry(entry)?;
                pets.insert(stored.pet.id, stored);
            } else if key.starts_with(&of_records) {
                let record = rows::record(entry)?;
                records.insert(record.id, record);
            } else {
                key_entries.push(entry.clone());
            }
        }
        Ok(Self {
            keys,
            head: view.head.clone(),
            puts: Puts::new(),
            pets,
            records,
            key_entries,
            changed: BTreeMap::new(),
            expiry: Expiry::new(),
            added: 0,
        })
    }

    /// Writes animals under their own identifiers.
    fn write_pets(&mut self, batch: &Batch) -> Result<(), RestoreError> {
        for pet in &batch.pets {
            let stored = self.pets.get(&pet.id).map(|stored| &stored.pet);
            if Resolution::of_pet(stored, pet)? == Resolution::Write {
                let stored = StoredPet { pet: pet.clone(), records: Vec::new() };
                self.pets.insert(pet.id, stored);
                self.changed.insert(pet.id, true);
                self.added += 1;
            }
            self.head.last_pet = self.head.last_pet.max(pet.id.0);
        }
        if self.added > 0 {
            self.head.rewrites += 1;
        }
        let above = batch.assign_above.map_or(i64::MIN, |id| id.0);
        self.head.last_pet = self.head.last_pet.max(above);
        Ok(())
    }

    /// Adds animals under new identifiers, unless the request is a repeat.
    fn add_pets(&mut self, batch: &Batch) -> Result<(), RestoreError> {
        let resolution = batch.request.as_ref().map_or(Ok(Resolution::Write), |request| {
            Resolution::of_new_pets(self.records.get(&request.id), request)
        })?;
        if resolution == Resolution::Keep {
            return Ok(());
        }
        for (index, pet) in batch.new_pets.iter().enumerate() {
            let id = self.head.next_pet()?;
            let pet = pet.clone().with_id(id);
            self.pets.insert(id, StoredPet { pet, records: Vec::new() });
            self.changed.insert(id, true);
            self.added += 1;
            if let (0, Some(request)) = (index, batch.request) {
                self.put_record(request.into_record(id));
            }
        }
        Ok(())
    }

    fn write_keys(&mut self, batch: &Batch) -> Result<(), RestoreError> {
        if batch.keys.is_empty() {
            return Ok(());
        }
        self.head.renew_keys()?;
        Stored::new(&self.key_entries).put(&batch.keys, self.keys, &mut self.head, &mut self.puts)
    }

    /// Writes records whose animals are there.
    fn write_records(&mut self, batch: &Batch) -> Result<(), RestoreError> {
        for record in &batch.records {
            let exists = self.pets.contains_key(&record.pet);
            let stored = self.records.get(&record.id);
            if Resolution::of_record(stored, exists, record)? == Resolution::Write {
                self.put_record(*record);
            }
        }
        Ok(())
    }

    fn put_record(&mut self, record: IdempotencyRecord) {
        let id = record.id.to_string();
        self.records.insert(record.id, record);
        rows::put_record(&mut self.puts, self.keys, &mut self.expiry, &record);
        if let Some(stored) = self.pets.get_mut(&record.pet)
            && !stored.records.contains(&id)
        {
            stored.records.push(id);
            self.changed.entry(record.pet).or_insert(false);
        }
    }

    fn finish(mut self, group: u64) -> Result<Plan<Written>, RestoreError> {
        let written = Written { added: self.added };
        if written.added > 0 {
            self.head.renew()?;
        }
        for (id, is_new) in &self.changed {
            if let Some(stored) = self.pets.get(id) {
                stored.put(&mut self.puts, self.keys, *is_new);
            }
        }
        rows::put_expiry(&mut self.puts, self.keys, group, &self.expiry);
        Ok(Plan::Write(Box::new(self.head), self.puts, Vec::new(), written))
    }
}
