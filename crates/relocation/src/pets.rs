//! [`PetRepository`] over the store that decides.

use std::time::Instant;

use async_trait::async_trait;
use petstore_domain::{
    AddError, Added, CatalogueVersion, IdempotencyRequest, NewPet, Pet, PetId, PetPage, PetQuery,
    PetRepository, StoreError, Timestamp, Versioned,
};

use crate::{fenced::MayBeFenced, shadow::Read, store::RelocatingStore};

/// Writes to the store that decides. What it refuses by its fence is repeated on the one that decides then.
macro_rules! write {
    ($store:ident, $side:ident => $call:expr) => {{
        let mut since = None;
        loop {
            let route = $store.route();
            let $side = &route.side;
            let done = $call.await;
            if !done.as_ref().is_err_and(MayBeFenced::is_fenced) {
                return done;
            }
            let since = *since.get_or_insert_with(Instant::now);
            if !$store.find_decision(&route, since).await {
                return done;
            }
        }
    }};
}
pub(crate) use write;

/// Reads from the store that decides, and again if another one has decided meanwhile.
macro_rules! read {
    ($store:ident, $side:ident => $call:expr, $shadow:expr) => {{
        let since = Instant::now();
        loop {
            let route = $store.route();
            let $side = &route.side;
            let found = $call.await?;
            if $store.still_decides(&route).await? {
                $shadow(&route, &found);
                return Ok(found);
            }
            if !$store.find_decision(&route, since).await {
                return Err(StoreError::unavailable("no store of the move decides"));
            }
        }
    }};
}
pub(crate) use read;

#[async_trait]
impl PetRepository for RelocatingStore {
    async fn add(
        &self,
        pet: NewPet,
        request: Option<IdempotencyRequest>,
    ) -> Result<Added, AddError> {
        write!(self, side => side.pets.add(pet.clone(), request.clone()))
    }

    async fn find(&self, id: PetId) -> Result<Option<Versioned<Pet>>, StoreError> {
        if self.is_alone() {
            return self.own.pets.find(id).await;
        }
        read!(self, side => side.pets.find(id), |route, found: &Option<Versioned<Pet>>| {
            self.shadow.note(route, || Read::Find(id, found.as_ref().map(|it| it.value.clone())));
        })
    }

    async fn list(&self, query: PetQuery) -> Result<Versioned<PetPage>, StoreError> {
        if self.is_alone() {
            return self.own.pets.list(query).await;
        }
        read!(self, side => side.pets.list(query), |route, found: &Versioned<PetPage>| {
            self.shadow.note(route, || Read::List(query, found.value.pets.clone()));
        })
    }

    fn version(&self) -> Option<CatalogueVersion> {
        if self.is_alone() { self.own.pets.version() } else { self.route().version() }
    }

    async fn purge_expired(&self, cutoff: Timestamp, limit: u32) -> Result<u32, StoreError> {
        write!(self, side => side.pets.purge_expired(cutoff, limit))
    }
}
