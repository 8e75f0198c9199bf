//! [`PetRepository`] over the store that decides.

use async_trait::async_trait;
use petstore_domain::{
    AddError, Added, CatalogueVersion, IdempotencyRequest, NewPet, Pet, PetId, PetPage, PetQuery,
    PetRepository, StoreError, Timestamp, Versioned,
};

use crate::{shadow::Read, store::RelocatingStore};

#[async_trait]
impl PetRepository for RelocatingStore {
    async fn add(
        &self,
        pet: NewPet,
        request: Option<IdempotencyRequest>,
    ) -> Result<Added, AddError> {
        self.write(|side| side.pets.add(pet.clone(), request)).await
    }

    async fn find(&self, id: PetId) -> Result<Option<Versioned<Pet>>, StoreError> {
        if self.current.is_alone() {
            return self.own.pets.find(id).await;
        }
        let (found, route) = self.read(|side| side.pets.find(id)).await?;
        let pet = || found.as_ref().map(|found| found.value.clone());
        self.shadow.note(&route, || Read::Find(id, pet()));
        Ok(found)
    }

    async fn list(&self, query: PetQuery) -> Result<Versioned<PetPage>, StoreError> {
        if self.current.is_alone() {
            return self.own.pets.list(query).await;
        }
        let (found, route) = self.read(|side| side.pets.list(query)).await?;
        self.shadow.note(&route, || Read::List(query, found.value.pets.clone()));
        Ok(found)
    }

    fn version(&self) -> Option<CatalogueVersion> {
        if self.current.is_alone() {
            return self.own.pets.version();
        }
        let route = self.current.get();
        if self.shadow.wants_read(&route) { None } else { route.version() }
    }

    async fn purge_expired(&self, cutoff: Timestamp, limit: u32) -> Result<u32, StoreError> {
        self.write(|side| side.pets.purge_expired(cutoff, limit)).await
    }
}
