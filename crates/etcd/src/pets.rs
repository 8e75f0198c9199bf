//! [`PetRepository`] on etcd.

use async_trait::async_trait;
use petstore_domain::{
    AddError, Added, CatalogueVersion, Corruption, IdempotencyRequest, NewPet, Pet, PetId, PetPage,
    PetQuery, PetRepository, Purged, StoreError, Timestamp, Versioned, WriterRole,
};

use crate::{
    core::{Core, FAR, NEAR},
    head::HeadRead,
    kv::{Bytes, Range},
    rows,
    store::EtcdStore,
};

/// The largest number of expiry entries in one purge.
const EXPIRIES: usize = 40;

#[async_trait]
impl PetRepository for EtcdStore {
    async fn add(
        &self,
        pet: NewPet,
        request: Option<IdempotencyRequest>,
    ) -> Result<Added, AddError> {
        self.tasks.writer.add(pet, request).await
    }

    async fn find(&self, id: PetId) -> Result<Versioned<Option<Pet>>, StoreError> {
        let Core { keys, client, .. } = &*self.core;
        let range = Range::one(&keys.pet(None, id));
        let HeadRead { head, found, .. } = self.core.read(&[range], client.deadline()).await?;
        let version = head.permit_read(self.reads_while_sealed)?;
        let value = found.first().map(rows::pet).transpose()?;
        Ok(Versioned { value, version })
    }

    async fn list(&self, query: PetQuery) -> Result<Versioned<PetPage>, StoreError> {
        let PetQuery { limit, status, after } = query;
        let Core { keys, client, .. } = &*self.core;
        let (limit, folder) = (usize::from(limit.get()), keys.pets(status));
        let after = after.map(|id| keys.pet(status, id));
        let all = Range { limit: limit + 1, ..Range::after(after, &folder) };
        let (end, last) = rows::window(&folder, &all, all.limit * NEAR);
        let window = Range { end: end.clone(), ..all.clone() };
        let read = self.core.read(&[window], client.deadline()).await?;
        let HeadRead { head, mut found, revision, .. } = read;
        let version = head.permit_read(self.reads_while_sealed)?;
        if found.len() <= limit && last < head.last_pet {
            let rest = Range { key: end, revision, ..all };
            found.extend(self.core.scan(&folder, rest, FAR).await?);
        }
        let pets = found.iter().take(limit).map(|entry| {
            let pet = rows::pet(entry)?;
            let is_listed = status.is_none() || pet.status == status;
            let what = format_args!("animal {}", pet.id);
            let wrong = || Corruption::new(what, "it is in the list of its status");
            if is_listed { Ok(pet) } else { Err(wrong()) }
        });
        let pets = pets.collect::<Result<_, Corruption>>()?;
        Ok(Versioned { value: PetPage { pets, more: found.len() > limit }, version })
    }

    fn version(&self) -> Option<CatalogueVersion> {
        self.core.version.get()
    }

    /// Deletes the records of the oldest expiry entries in one transaction, as many as the transaction holds.
    async fn purge_expired(&self, cutoff: Timestamp, limit: u32) -> Result<Purged, StoreError> {
        let core = &self.core;
        let end = Bytes::from(&*core.keys.expiry(cutoff.0.saturating_add(1)));
        let folder = core.keys.folder("expiry");
        let expired = Range { end, limit: EXPIRIES, ..Range::one(&folder) };
        let found = core.read(&[expired], core.client.deadline()).await?.found;
        // Each expiry entry is deleted with both entries of each of its records. The records that are left get one new
        // expiry entry together.
        let (mut places, mut count, mut room) = (Vec::new(), 0, core.max_ops().rows());
        let limit = (limit as usize).min(room);
        for entry in &found {
            let records = rows::expiry(entry)?;
            if count > 0 && records.len() > room {
                break;
            }
            (room, count) = (room.saturating_sub(records.len()), count + 1);
            places.push(entry.key());
            places.extend(records.iter().map(|(id, _)| core.keys.record(id)));
        }
        let is_all = count == found.len() && count < EXPIRIES;
        core.commit(Some(WriterRole::Service), &places, false, |draft| {
            let mut purged = Purged { deleted: 0, more: !is_all };
            for entry in &found[..count] {
                // Another process may have deleted the entry.
                let Some(entry) = draft.entry(&entry.key()) else { continue };
                draft.delete(entry.key());
                for (id, at) in rows::expiry(&entry)? {
                    let stored = draft.record(&id)?;
                    // A replaced record is in another expiry entry: the entry of its new time.
                    let Some(record) = stored.filter(|record| record.at.0 == at) else { continue };
                    if at <= cutoff.0 && (purged.deleted as usize) < limit {
                        purged.deleted += 1;
                        draft.delete(core.keys.record(&id));
                        draft.delete(core.keys.recorded(record.position()));
                    } else {
                        purged.more |= at <= cutoff.0;
                        draft.expiry.push((id, at));
                    }
                }
            }
            Ok(purged)
        })
        .await
    }
}
