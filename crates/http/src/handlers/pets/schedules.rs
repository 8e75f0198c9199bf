//! Lists and additions under random thread schedules: an entry of the page cache is never older than its version.

use std::sync::Arc;

use async_trait::async_trait;
use bytes::Bytes;
use hyper::{Request, StatusCode};
use petstore_domain::{
    AddError, Added, CatalogueVersion, Idempotency, NewPet, Pet, PetId, PetPage, PetQuery,
    PetService, StoreError, Versioned, mocks::new_pet,
};
use shuttle::{
    future::{block_on, yield_now},
    sync::Mutex,
    thread,
};

use crate::{
    handlers::{RequestContext, pets},
    schedules::explore,
    settings::Settings,
    state::{Ports, State, tests::unused_ports},
};

/// A catalogue whose version is the number of its animals.
#[derive(Default)]
struct Catalogue(Mutex<Vec<Pet>>);

#[async_trait]
impl PetService for Catalogue {
    async fn list(&self, _: PetQuery) -> Result<Versioned<PetPage>, StoreError> {
        let pets = self.0.lock().unwrap().clone();
        let version = Some(CatalogueVersion(pets.len() as u128));
        yield_now().await;
        Ok(Versioned { value: PetPage { pets, more: false }, version })
    }
    async fn add(&self, pet: NewPet, _: Option<Idempotency>) -> Result<Added, AddError> {
        let mut pets = self.0.lock().unwrap();
        let pet = pet.with_id(PetId(i64::try_from(pets.len()).unwrap() + 1));
        pets.push(pet.clone());
        Ok(Added::Created(pet))
    }
    async fn get(&self, _: PetId) -> Result<Versioned<Option<Pet>>, StoreError> {
        unreachable!()
    }
    fn version(&self) -> Option<CatalogueVersion> {
        Some(CatalogueVersion(self.0.lock().unwrap().len() as u128))
    }
}

/// Returns the number of animals in the answer to a list.
fn listed(state: &State) -> usize {
    let (head, ()) = Request::get("/v1/pets").body(()).unwrap().into_parts();
    let context = RequestContext {
        state,
        head: &head,
        parameter: "",
        success: StatusCode::OK,
        caller: None,
        body: Bytes::new(),
    };
    let response = block_on(pets::list(context)).unwrap();
    let body = response.into_body();
    serde_json::from_slice::<Vec<serde_json::Value>>(&body).unwrap().len()
}

#[test]
fn a_list_contains_every_animal_added_before_its_request() {
    explore(300, || {
        let pets = Arc::<Catalogue>::default();
        let ports = Ports { pets: pets.clone(), ..unused_ports() };
        let state = Arc::new(State::new(ports, Settings::default(), None));
        let clients = [(); 3].map(|()| {
            let (state, pets) = (Arc::clone(&state), Arc::clone(&pets));
            thread::spawn(move || {
                for _ in 0..2 {
                    let rex = new_pet("Rex");
                    let Ok(Added::Created(pet)) = block_on(pets.add(rex, None)) else {
                        unreachable!()
                    };
                    let listed = listed(&state);
                    assert!(listed >= usize::try_from(pet.id.0).unwrap(), "a stale page");
                }
            })
        });
        for client in clients {
            client.join().unwrap();
        }
    });
}
