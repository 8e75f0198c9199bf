//! Writes of many rows, each one a transaction.

use std::collections::BTreeMap;

use petstore_domain::{
    ApiKey, ArchiveError, IdempotencyId, IdempotencyRecord, IdempotencyRequest, NewPet, Pet, PetId,
    Resolution, Rows, WriterRole,
};

use crate::{
    api_keys::{digest_owner, stored_key},
    core::{Core, Plan},
    error::Failure,
    head::{Head, HeadRead},
    rows::{self, Changes, Expiry, Keys},
};

pub(super) async fn write_rows(
    core: &Core,
    writer: WriterRole,
    rows: &Rows,
) -> Result<u64, ArchiveError> {
    let keys = &core.keys;
    let pets = rows.pets.iter().map(|pet| keys.pet(None, pet.id));
    let records = rows.records.iter().map(|record| keys.record(&record.id));
    let api_keys = rows.keys.iter().map(|key| keys.api_key(key.id));
    let places: Vec<_> = pets.chain(records).chain(api_keys).collect();
    loop {
        let stored = if rows.keys.is_empty() { None } else { Some(core.readable_keys().await?) };
        let written = core.commit(&places, stored.is_none(), |read, group| {
            read.head.permit_write(writer)?;
            let mut batch = Batch::new(keys, read)?;
            if let Some((revision, stored)) = &stored {
                if batch.head.key_revision() != *revision {
                    return Ok::<_, ArchiveError>(Plan::Done(None));
                }
                batch.write_keys(read, &rows.keys, stored.clone())?;
            }
            let added = batch.write_pets(&rows.pets)?;
            batch.write_records(&rows.records)?;
            let head = &mut batch.head;
            head.last_pet = head.last_pet.max(rows.highest.pet.map_or(0, |id| id.0));
            head.last_key = head.last_key.max(rows.highest.key.map_or(0, |id| id.0));
            if added > 0 {
                head.rewrites += 1;
            }
            batch.finish(group, added, Some)
        });
        // Otherwise the keys have changed since their digests were read.
        if let Some(added) = written.await? {
            return Ok(added);
        }
    }
}

pub(super) async fn add_new(
    core: &Core,
    pets: &[NewPet],
    request: Option<IdempotencyRequest>,
) -> Result<u64, ArchiveError> {
    let place: Vec<_> = request.iter().map(|request| core.keys.record(&request.id)).collect();
    core.commit(&place, true, |read, group| {
        read.head.permit_write(WriterRole::Service)?;
        let mut batch = Batch::new(&core.keys, read)?;
        if let Some(request) = &request {
            let stored = batch.records.get(&request.id);
            if Resolution::of_new_pets(stored, request)? == Resolution::Keep {
                return Ok(Plan::Done(0));
            }
        }
        for (index, pet) in pets.iter().enumerate() {
            let id = batch.head.next_pet()?;
            rows::put_pet(&mut batch.changes, batch.keys, &pet.clone().with_id(id));
            if let (0, Some(request)) = (index, request) {
                batch.put_record(request.into_record(id));
            }
        }
        batch.finish(group, pets.len() as u64, |added| added)
    })
    .await
}

/// Rows on their way into a transaction.
struct Batch<'a> {
    keys: &'a Keys,
    head: Head,
    changes: Changes,
    /// The stored animals and records at the places of the rows, and those that were put.
    pets: BTreeMap<PetId, Pet>,
    records: BTreeMap<IdempotencyId, IdempotencyRecord>,
    expiry: Expiry,
}

impl<'a> Batch<'a> {
    fn new(keys: &'a Keys, read: &HeadRead) -> Result<Self, Failure> {
        let (mut pets, mut records) = (BTreeMap::new(), BTreeMap::new());
        let [animals, of_records] = [keys.pets(None), keys.folder("records")];
        for entry in &read.found {
            let key = entry.key();
            if key.starts_with(&animals) {
                let pet = rows::pet(entry)?;
                pets.insert(pet.id, pet);
            } else if key.starts_with(&of_records) {
                let record = rows::record(entry)?;
                records.insert(record.id, record);
            }
        }
        let (head, changes, expiry) = (read.head.clone(), Changes::new(), Expiry::new());
        Ok(Self { keys, head, changes, pets, records, expiry })
    }

    /// Writes animals under their own identifiers. Returns how many of them were not stored.
    fn write_pets(&mut self, pets: &[Pet]) -> Result<u64, ArchiveError> {
        let mut added = 0;
        for pet in pets {
            if Resolution::of_pet(self.pets.get(&pet.id), pet)? == Resolution::Write {
                rows::put_pet(&mut self.changes, self.keys, pet);
                self.pets.insert(pet.id, pet.clone());
                added += 1;
            }
            self.head.last_pet = self.head.last_pet.max(pet.id.0);
        }
        Ok(added)
    }

    /// Writes keys under their own identifiers. `all` are those of the store.
    fn write_keys(
        &mut self,
        read: &HeadRead,
        api_keys: &[ApiKey],
        mut all: Vec<ApiKey>,
    ) -> Result<(), ArchiveError> {
        self.head.renew_keys()?;
        for key in api_keys {
            let owner = digest_owner(&all, key);
            let resolved = Resolution::of_key(stored_key(read, key.id).as_ref(), owner, key)?;
            rows::put_api_key(&mut self.changes, self.keys, &resolved);
            self.head.last_key = self.head.last_key.max(resolved.id.0);
            all.push(resolved);
        }
        Ok(())
    }

    fn write_records(&mut self, records: &[IdempotencyRecord]) -> Result<(), ArchiveError> {
        for record in records {
            let stored = self.records.get(&record.id);
            if Resolution::of_record(stored, record)? == Resolution::Write {
                self.put_record(*record);
            }
        }
        Ok(())
    }

    fn put_record(&mut self, record: IdempotencyRecord) {
        let stored = self.records.insert(record.id, record);
        let (changes, expiry) = (&mut self.changes, &mut self.expiry);
        rows::put_record(changes, self.keys, expiry, &record, stored.as_ref());
    }

    fn finish<T>(
        mut self,
        group: u64,
        added: u64,
        answer: impl FnOnce(u64) -> T,
    ) -> Result<Plan<T>, ArchiveError> {
        if added > 0 {
            self.head.renew()?;
        }
        rows::put_expiry(&mut self.changes, self.keys, group, &self.expiry);
        Ok(Plan::Write(Box::new(self.head), self.changes, answer(added)))
    }
}
