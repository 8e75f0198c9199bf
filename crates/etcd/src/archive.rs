//! [`Archive`] on etcd: a snapshot is a revision, and each write is one transaction.

use std::sync::Arc;

use async_trait::async_trait;
use petstore_domain::{
    ApiKey, Archive, ArchiveError, HighestIds, IdempotencyRecord, IdempotencyRequest, KeyId,
    NewPet, Pet, PetId, RecordPosition, Resolution, Rows, Snapshot, StoreCounts, StoreError,
    WriterRole,
};

use crate::{
    core::{Core, NEAR},
    draft::Draft,
    head::{self, HeadRead},
    kv::{KeyValue, Range},
    rows,
    store::EtcdStore,
};

#[async_trait]
impl Archive for EtcdStore {
    async fn snapshot(&self) -> Result<Box<dyn Snapshot>, StoreError> {
        let read = self.core.read(&[], self.core.client.deadline()).await?;
        Ok(Box::new(EtcdSnapshot { core: self.core.clone(), read }))
    }

    async fn write_rows(&self, writer: WriterRole, rows: Rows) -> Result<u64, ArchiveError> {
        let (core, has_keys) = (&self.core, !rows.keys.is_empty());
        let records = rows.records.iter().map(|record| core.keys.record(&record.id));
        let api_keys = rows.keys.iter().map(|key| core.keys.api_key(key.id));
        let others: Vec<_> = records.chain(api_keys).collect();
        let deadline = core.client.deadline();
        loop {
            let read = core.read(&[], deadline).await?;
            let (highest, revision) = (read.head.last_pet, read.head.key_revision());
            let stored = if has_keys { core.readable_keys(read.revision).await? } else { vec![] };
            // No stored animal is above the highest identifier. So a copy does not read the places of new animals,
            // which halves its time.
            let pets = rows.pets.iter().filter(|pet| pet.id.0 <= highest);
            let pets = pets.map(|pet| core.keys.pet(None, pet.id));
            let places: Vec<_> = pets.chain(others.clone()).collect();
            let written = core.commit(Some(writer), &places, !has_keys, |draft| {
                let last = draft.head.last_pet;
                let is_unread = rows.pets.iter().any(|pet| highest < pet.id.0 && pet.id.0 <= last);
                if is_unread || (has_keys && draft.head.key_revision() != revision) {
                    return Ok(None);
                }
                if has_keys {
                    draft.head.key_revision = head::random()?;
                    write_keys(draft, &rows.keys, stored.clone())?;
                }
                write_pets_and_records(draft, &rows).map(Some)
            });
            // Tries again if another process meanwhile assigned an identifier of `rows` or changed API keys.
            if let Some(added) = written.await? {
                return Ok(added);
            }
        }
    }

    async fn add_new(
        &self,
        pets: Vec<NewPet>,
        request: Option<IdempotencyRequest>,
    ) -> Result<u64, ArchiveError> {
        let place: Vec<_> =
            request.iter().map(|request| self.core.keys.record(&request.id)).collect();
        self.core
            .commit(Some(WriterRole::Service), &place, true, |draft| {
                let stored = request.map(|request| draft.record(request.id)).transpose()?.flatten();
                if let Some(request) = &request
                    && Resolution::of_new_pets(stored.as_ref(), request)? == Resolution::Keep
                {
                    return Ok(0);
                }
                for (index, pet) in pets.iter().enumerate() {
                    let id = draft.head.next_pet()?;
                    draft.put_pet(&pet.clone().with_id(id));
                    if let (0, Some(request)) = (index, request) {
                        draft.put_record(&request.into_record(id), stored.as_ref());
                    }
                }
                draft.head.version = head::random()?;
                Ok(pets.len() as u64)
            })
            .await
    }

    fn max_batch(&self) -> usize {
        self.core.max_ops().rows()
    }
}

/// Writes keys under their own identifiers. `stored` are the readable keys of the store.
fn write_keys(
    draft: &mut Draft<'_>,
    keys: &[ApiKey],
    mut stored: Vec<ApiKey>,
) -> Result<(), ArchiveError> {
    for key in keys {
        let owner = stored.iter().find(|stored| stored.digest == key.digest);
        let owner = owner.map(|stored| stored.id);
        let resolved = Resolution::of_key(draft.api_key(key.id).as_ref(), owner, key)?;
        draft.put_api_key(&resolved);
        stored.push(resolved);
    }
    Ok(())
}

/// Writes animals and records under their own identifiers. Returns how many animals are new.
fn write_pets_and_records(draft: &mut Draft<'_>, rows: &Rows) -> Result<u64, ArchiveError> {
    let mut added = 0;
    for pet in &rows.pets {
        if Resolution::of_pet(draft.pet(pet.id)?.as_ref(), pet)? == Resolution::Write {
            draft.put_pet(pet);
            added += 1;
        }
    }
    for record in &rows.records {
        let stored = draft.record(record.id)?;
        if Resolution::of_record(stored.as_ref(), record)? == Resolution::Write {
            draft.put_record(record, stored.as_ref());
        }
    }
    let pets = rows.pets.iter().map(|pet| pet.id).chain(rows.highest.pet).map(|id| id.0);
    let head = &mut draft.head;
    head.last_pet = pets.fold(head.last_pet, i64::max);
    head.last_key = head.last_key.max(rows.highest.key.map_or(0, |id| id.0));
    if added > 0 {
        head.rewrites += 1;
        head.version = head::random()?;
    }
    Ok(added)
}

/// The entries at the revision of `read`. Reads fail once etcd has compacted that revision away.
struct EtcdSnapshot {
    core: Arc<Core>,
    read: HeadRead,
}

impl EtcdSnapshot {
    async fn scan(
        &self,
        folder: &str,
        after: Option<String>,
        limit: u32,
    ) -> Result<Vec<KeyValue>, StoreError> {
        let (limit, revision) = (limit as usize, self.read.revision);
        let range = Range { limit, revision, ..Range::after(after, folder) };
        self.core.scan(folder, range, NEAR).await
    }
}

#[async_trait]
impl Snapshot for EtcdSnapshot {
    async fn counts(&mut self) -> Result<StoreCounts, StoreError> {
        let (core, revision) = (&self.core, self.read.revision);
        Ok(StoreCounts {
            pets: core.count(&core.keys.pets(None), revision).await?,
            keys: core.count(&core.keys.folder("keys"), revision).await?,
            records: core.count(&core.keys.folder("recorded"), revision).await?,
        })
    }

    async fn highest_ids(&mut self) -> Result<HighestIds, StoreError> {
        let some = |id: i64| (id > 0).then_some(id);
        let (pet, key) = (some(self.read.head.last_pet), some(self.read.head.last_key));
        Ok(HighestIds { pet: pet.map(PetId), key: key.map(KeyId) })
    }

    async fn pets(&mut self, after: Option<PetId>, limit: u32) -> Result<Vec<Pet>, StoreError> {
        let after = after.map(|id| self.core.keys.pet(None, id));
        let pets = self.scan(&self.core.keys.pets(None), after, limit).await?;
        Ok(pets.iter().map(rows::pet).collect::<Result<_, _>>()?)
    }

    async fn keys(&mut self) -> Result<Vec<ApiKey>, StoreError> {
        let keys = self.core.api_keys(0, self.read.revision).await?;
        let keys = keys.into_iter().map(|key| key.map_err(|corrupt| corrupt.corruption));
        Ok(keys.collect::<Result<_, _>>()?)
    }

    async fn records(
        &mut self,
        after: Option<RecordPosition>,
        limit: u32,
    ) -> Result<Vec<IdempotencyRecord>, StoreError> {
        let after = after.map(|position| self.core.keys.recorded(position));
        let records = self.scan(&self.core.keys.folder("recorded"), after, limit).await?;
        Ok(records.iter().map(rows::record).collect::<Result<_, _>>()?)
    }
}
