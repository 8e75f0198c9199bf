//! One open handle on a store in memory, with faults in front of its calls.

use std::sync::{
    Arc,
    atomic::{AtomicBool, Ordering},
};

use async_trait::async_trait;
use petstore_domain::{
    AddError, Added, ApiKey, Archive, ArchiveError, CatalogueVersion, Handover, IdempotencyRequest,
    KeyChanges, KeyId, KeyMark, KeyRevision, KeyStore, NewPet, Pet, PetId, PetPage, PetQuery,
    PetRepository, Purged, Rows, SaveOutcome, Snapshot, StoreError, StoreState, StoredKeys,
    Timestamp, Versioned, WriterRole,
};
use petstore_memory::MemoryStore;

use crate::faults::{Faults, Version};

pub(crate) struct Faulty {
    pub(crate) faults: Faults,
    pub(crate) store: Arc<MemoryStore>,
    pub(crate) cut_off: Arc<AtomicBool>,
    /// `true` if the store refuses a second animal with the same name.
    pub(crate) unique_names: Arc<AtomicBool>,
    /// Kept so that the harness can count the open handles.
    pub(crate) _open: Arc<()>,
}

impl Faulty {
    /// Returns the store. While the store is cut off, the fault `unreachable` decides; without this fault, fails.
    async fn reach(&self) -> Result<Arc<MemoryStore>, StoreError> {
        let store = Arc::clone(&self.store);
        if self.cut_off.load(Ordering::SeqCst) {
            match &self.faults.unreachable {
                Some(fault) => fault(Arc::clone(&store), ()).await?,
                None => return Err(StoreError::unavailable("the connection is cut")),
            }
        }
        Ok(store)
    }

    fn changed(&self, version: Version) -> Version {
        let Some(change) = &self.faults.versions else { return version };
        version.map(|version| CatalogueVersion(change(version.0)))
    }

    fn versioned<T>(&self, read: Versioned<T>) -> Versioned<T> {
        Versioned { version: self.changed(read.version), ..read }
    }
}

/// Calls the fault of the call. Without a fault, calls the store in memory.
macro_rules! call {
    ($self:ident.$call:ident($($arg:ident),*), $honest:path) => {{
        let store = $self.reach().await?;
        match &$self.faults.$call {
            Some(fault) => fault(store, ($($arg),*)).await,
            None => $honest(&*store, $($arg),*).await,
        }
    }};
}

/// Refuses an animal whose name another animal has, like a unique index.
pub(crate) async fn refuse_equal_names(
    store: &MemoryStore,
    pet: &NewPet,
) -> Result<(), StoreError> {
    let pets = store.snapshot().await?.pets(None, u32::MAX).await?;
    if pets.iter().any(|other| other.name == pet.name) {
        return Err(StoreError::refused("UNIQUE constraint failed: operator_rule"));
    }
    Ok(())
}

#[async_trait]
impl PetRepository for Faulty {
    async fn add(
        &self,
        pet: NewPet,
        request: Option<IdempotencyRequest>,
    ) -> Result<Added, AddError> {
        if self.unique_names.load(Ordering::SeqCst) && self.faults.add.is_none() {
            refuse_equal_names(&self.store, &pet).await?;
        }
        call!(self.add(pet, request), PetRepository::add)
    }

    async fn find(&self, id: PetId) -> Result<Versioned<Option<Pet>>, StoreError> {
        Ok(self.versioned(call!(self.find(id), PetRepository::find)?))
    }

    async fn list(&self, query: PetQuery) -> Result<Versioned<PetPage>, StoreError> {
        Ok(self.versioned(call!(self.list(query), PetRepository::list)?))
    }

    fn version(&self) -> Option<CatalogueVersion> {
        let version = self.changed(self.store.version());
        self.faults.own_version.as_ref().map_or(version, |change| change(version))
    }

    async fn purge_expired(&self, cutoff: Timestamp, limit: u32) -> Result<Purged, StoreError> {
        call!(self.purge(cutoff, limit), PetRepository::purge_expired)
    }
}

#[async_trait]
impl KeyStore for Faulty {
    async fn load(&self, unless: Option<KeyRevision>) -> Result<Option<StoredKeys>, StoreError> {
        call!(self.load(unless), KeyStore::load)
    }

    async fn load_changes(&self, known: Option<KeyMark>) -> Result<KeyChanges, StoreError> {
        call!(self.load_changes(known), KeyStore::load_changes)
    }

    async fn save(
        &self,
        expected: KeyRevision,
        changed: Vec<ApiKey>,
        removed: Vec<KeyId>,
    ) -> Result<SaveOutcome, StoreError> {
        call!(self.save(expected, changed, removed), KeyStore::save)
    }

    async fn note_uses(&self, uses: Vec<(KeyId, Timestamp)>) -> Result<(), StoreError> {
        if self.faults.forgets_uses && self.cut_off.load(Ordering::SeqCst) {
            return Ok(());
        }
        call!(self.note_uses(uses), KeyStore::note_uses)
    }
}

#[async_trait]
impl Archive for Faulty {
    async fn snapshot(&self) -> Result<Box<dyn Snapshot>, StoreError> {
        call!(self.snapshot(), Archive::snapshot)
    }

    async fn write_rows(&self, writer: WriterRole, rows: Rows) -> Result<u64, ArchiveError> {
        if rows.pets.len() + rows.keys.len() + rows.records.len() > self.max_batch() {
            return Err(StoreError::refused("more rows than `max_batch` says").into());
        }
        call!(self.write_rows(writer, rows), Archive::write_rows)
    }

    async fn add_new(
        &self,
        pets: Vec<NewPet>,
        request: Option<IdempotencyRequest>,
    ) -> Result<u64, ArchiveError> {
        call!(self.add_new(pets, request), Archive::add_new)
    }

    fn max_batch(&self) -> usize {
        // A small number, like the limit of a store with small transactions.
        25
    }
}

#[async_trait]
impl Handover for Faulty {
    async fn state(&self) -> Result<StoreState, StoreError> {
        call!(self.state(), Handover::state)
    }

    async fn change_state(&self, expected: i64, new: StoreState) -> Result<bool, StoreError> {
        call!(self.change_state(expected, new), Handover::change_state)
    }
}
