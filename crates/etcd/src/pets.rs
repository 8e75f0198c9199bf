//! [`PetRepository`] on etcd.

use std::{collections::HashMap, sync::atomic::Ordering};

use async_trait::async_trait;
use petstore_domain::{
    AddError, Added, CatalogueVersion, Corruption, IdempotencyRequest, NewPet, Pet, PetId, PetPage,
    PetQuery, PetRepository, PetStatus, Purged, StoreError, Timestamp, Versioned, Writer,
};

use crate::{
    core::{Core, HEAD_OPS, MAX_OPS, Plan},
    error::Failure,
    head::View,
    kv::{Bytes, KeyValue, Range},
    rows::{self, Expiry, Puts, StoredPet},
    store::EtcdStore,
};

/// Entries of records to be purged that are looked at together.
const EXPIRIES: usize = 40;

#[async_trait]
impl PetRepository for EtcdStore {
    async fn add(
        &self,
        pet: NewPet,
        request: Option<IdempotencyRequest>,
    ) -> Result<Added, AddError> {
        self.writer.add(pet, request).await
    }

    async fn find(&self, id: PetId) -> Result<Option<Versioned<Pet>>, StoreError> {
        let (entries, _, version) =
            self.core.read_pets(Range::one(&self.core.keys.pet(None, id))).await?;
        let pet = entries.first().map(StoredPet::from_entry).transpose()?;
        Ok(pet.map(|stored| Versioned { value: stored.pet, version }))
    }

    async fn list(&self, query: PetQuery) -> Result<Versioned<PetPage>, StoreError> {
        let PetQuery { limit, status, after } = query;
        let limit = usize::from(limit.get());
        let (entries, version) = self.core.read_page(status, after, limit + 1).await?;
        let pets = entries.iter().take(limit).map(|entry| {
            let pet = StoredPet::from_entry(entry)?.pet;
            let is_listed = status.is_none() || pet.status == status;
            let wrong = || {
                Corruption::new(
                    format_args!("animal {}", pet.id),
                    "it is in the list of its status",
                )
            };
            if is_listed { Ok(pet) } else { Err(wrong()) }
        });
        let pets = pets.collect::<Result<_, Corruption>>()?;
        Ok(Versioned { value: PetPage { pets, more: entries.len() > limit }, version })
    }

    fn version(&self) -> Option<CatalogueVersion> {
        self.core.version.get()
    }

    /// One transaction: it deletes as many as fit into one, of the oldest entries of `Expiry`.
    async fn purge_expired(&self, cutoff: Timestamp, limit: u32) -> Result<Purged, StoreError> {
        Ok(self.core.purge(cutoff, limit).await?)
    }
}

impl Core {
    /// Reads animals at one revision with the head. Returns the highest identifier and the version at that revision, too.
    async fn read_pets(
        &self,
        range: Range,
    ) -> Result<(Vec<KeyValue>, i64, Option<CatalogueVersion>), Failure> {
        let View { head, mut found, .. } = self.read(&[range], self.client.deadline()).await?;
        let version = head.permit_read(self.reads_while_sealed.load(Ordering::Relaxed))?;
        Ok((found.pop().unwrap_or_default(), head.last_pet, version))
    }

    /// Reads up to `limit` animals behind `after`, at one revision, which has this version.
    async fn read_page(
        &self,
        status: Option<PetStatus>,
        after: Option<PetId>,
        limit: usize,
    ) -> Result<(Vec<KeyValue>, Option<CatalogueVersion>), Failure> {
        let mut page = (Vec::new(), None);
        for (range, last) in self.keys.pet_ranges(status, after, limit) {
            let (entries, highest, version) = self.read_pets(Range { limit, ..range }).await?;
            let is_whole = entries.len() == limit || last >= highest;
            page = (entries, version);
            if is_whole {
                break;
            }
        }
        Ok(page)
    }

    async fn purge(&self, cutoff: Timestamp, limit: u32) -> Result<Purged, Failure> {
        // Up to what expires later.
        let end = Bytes::from(&*self.keys.expiry(cutoff.0.saturating_add(1)));
        let expired = Range::one(&self.keys.folder("expiry"));
        let expired = Range { end, limit: EXPIRIES, ..expired };
        let view = self.read(&[expired], self.client.deadline()).await?;
        view.head.permit(Writer::Service)?;
        let found = view.found.into_iter().next().unwrap_or_default();
        let (mut entries, mut keys, mut room) = (Vec::new(), Vec::new(), MAX_OPS - HEAD_OPS - 1);
        for entry in &found {
            let records = rows::expiry(entry)?;
            // All are read, and deleted; what is left is put together again.
            let Some(left) = room.checked_sub(records.len() + 1) else { break };
            room = left;
            keys.extend(records.iter().map(|(id, _)| self.keys.record(id)));
            entries.push(entry.key());
        }
        if limit == 0 || entries.is_empty() {
            return Ok(Purged { deleted: 0, more: !found.is_empty() });
        }
        let is_all = entries.len() == found.len() && found.len() < EXPIRIES;
        let ranges: Vec<Range> = entries.iter().chain(&keys).map(|key| Range::one(key)).collect();
        self.commit(&ranges, None, |view, group| {
            view.head.permit(Writer::Service)?;
            let (expiries, records) = view.found.split_at(entries.len());
            let records = records.iter().flatten().map(rows::record);
            let records =
                records.map(|record| record.map(|record| (record.id.to_string(), record.at.0)));
            let stored: HashMap<String, i64> = records.collect::<Result<_, _>>()?;
            let (mut deletes, mut left, mut count) = (entries.clone(), Expiry::new(), 0);
            for entry in expiries.iter().flatten() {
                for (id, at) in rows::expiry(entry)? {
                    // One that was replaced is named again by whoever has replaced it.
                    if stored.get(&id) != Some(&at) {
                        continue;
                    }
                    if at <= cutoff.0 && count < limit {
                        count += 1;
                        deletes.push(self.keys.record(&id));
                    } else {
                        left.push((id, at));
                    }
                }
            }
            let more = !is_all || left.iter().any(|(_, at)| *at <= cutoff.0);
            let mut puts = Puts::new();
            rows::put_expiry(&mut puts, &self.keys, group, &left);
            let purged = Purged { deleted: count, more };
            Ok(Plan::Write(Box::new(view.head.clone()), puts, deletes, purged))
        })
        .await
    }
}
