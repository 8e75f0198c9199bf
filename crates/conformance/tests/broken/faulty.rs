//! One open handle on a store in memory, with faults in front of its calls.

use async_trait::async_trait;
use petstore_domain::{
    AddError, Added, ApiKey, Archive, ArchiveError, CatalogueVersion, Handover, IdempotencyRequest,
    KeyChanges, KeyId, KeyMark, KeyRevision, KeyStore, NewPet, Pet, PetId, PetPage, PetQuery,
    PetRepository, Purged, Rows, SaveOutcome, Snapshot, StoreError, StoreState, StoredKeys,
    Timestamp, Versioned, WriterRole,
};
use tokio::task::coop::consume_budget;

use crate::faults::{Call, Faults, Handle, Version};

pub(crate) struct Faulty {
    pub(crate) faults: Faults,
    pub(crate) handle: Handle,
}

impl Faulty {
    /// Answers a call of the kind `kind`.
    async fn call<In, T, E>(
        &self,
        kind: &'static str,
        call: &Call<In, T, E>,
        input: In,
    ) -> Result<T, E>
    where
        In: Clone + Send + 'static,
        T: 'static,
        E: From<StoreError> + 'static,
    {
        // A promise that repeats calls for ever ends after its time limit.
        consume_budget().await;
        let state = self.handle.state().await?;
        let answer = (self.faults.answer)(&self.handle, kind, &state);
        answer.to(&self.handle, call.run(&self.handle, input)).await
    }

    fn changed(&self, version: Version) -> Version {
        version.map(|version| CatalogueVersion((self.faults.versions)(&self.handle, version.0)))
    }

    fn versioned<T>(&self, read: Versioned<T>) -> Versioned<T> {
        Versioned { version: self.changed(read.version), ..read }
    }
}

#[async_trait]
impl PetRepository for Faulty {
    async fn add(
        &self,
        pet: NewPet,
        request: Option<IdempotencyRequest>,
    ) -> Result<Added, AddError> {
        let kind = if request.is_some() { "add once" } else { "add" };
        self.call(kind, &self.faults.add, (pet, request)).await
    }

    async fn find(&self, id: PetId) -> Result<Versioned<Option<Pet>>, StoreError> {
        let kind = if id.0 > 1000 { "find none" } else { "find" };
        Ok(self.versioned(self.call(kind, &self.faults.find, id).await?))
    }

    async fn list(&self, query: PetQuery) -> Result<Versioned<PetPage>, StoreError> {
        Ok(self.versioned(self.call("list", &self.faults.list, query).await?))
    }

    fn version(&self) -> Option<CatalogueVersion> {
        (self.faults.own_version)(&self.handle, self.changed(self.handle.version()))
    }

    async fn purge_expired(&self, cutoff: Timestamp, limit: u32) -> Result<Purged, StoreError> {
        self.call("purge", &self.faults.purge, (cutoff, limit)).await
    }
}

#[async_trait]
impl KeyStore for Faulty {
    async fn load(&self, unless: Option<KeyRevision>) -> Result<Option<StoredKeys>, StoreError> {
        self.call("load", &self.faults.load, unless).await
    }

    async fn load_changes(&self, known: Option<KeyMark>) -> Result<KeyChanges, StoreError> {
        self.call("load", &self.faults.load_changes, known).await
    }

    async fn save(
        &self,
        expected: KeyRevision,
        changed: Vec<ApiKey>,
        removed: Vec<KeyId>,
    ) -> Result<SaveOutcome, StoreError> {
        let kind = if removed.is_empty() { "save" } else { "remove" };
        self.call(kind, &self.faults.save, (expected, changed, removed)).await
    }

    async fn note_uses(&self, uses: Vec<(KeyId, Timestamp)>) -> Result<(), StoreError> {
        self.call("note", &self.faults.note_uses, uses).await
    }
}

#[async_trait]
impl Archive for Faulty {
    async fn snapshot(&self) -> Result<Box<dyn Snapshot>, StoreError> {
        self.call("snapshot", &self.faults.snapshot, ()).await
    }

    async fn write_rows(&self, writer: WriterRole, rows: Rows) -> Result<u64, ArchiveError> {
        if rows.pets.len() + rows.keys.len() + rows.records.len() > self.max_batch() {
            return Err(StoreError::refused("more rows than `max_batch` says").into());
        }
        let kind = match &rows {
            Rows { keys, .. } if !keys.is_empty() => "write keys",
            Rows { records, .. } if !records.is_empty() => "write records",
            _ => "write animals",
        };
        self.call(kind, &self.faults.write_rows, (writer, rows)).await
    }

    async fn add_new(
        &self,
        pets: Vec<NewPet>,
        request: Option<IdempotencyRequest>,
    ) -> Result<u64, ArchiveError> {
        self.call("add many", &self.faults.add_new, (pets, request)).await
    }

    fn max_batch(&self) -> usize {
        self.faults.max_batch
    }
}

#[async_trait]
impl Handover for Faulty {
    async fn state(&self) -> Result<StoreState, StoreError> {
        self.call("state", &self.faults.state, ()).await
    }

    async fn change_state(&self, expected: i64, new: StoreState) -> Result<bool, StoreError> {
        self.call("state", &self.faults.change_state, (expected, new)).await
    }
}
