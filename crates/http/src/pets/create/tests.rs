use std::{net::SocketAddr, sync::Arc, time::Duration};

use async_trait::async_trait;
use bytes::Bytes;
use http_body_util::Full;
use hyper::Request;
use petstore_domain::{
    AddError, Added, ApiKeySecret, Caller, CatalogueVersion, Idempotency, KeyRights, ManualClock,
    MockAuthenticator, NewPet, Pet, PetId, PetPage, PetQuery, PetService, StoreError, Timestamp,
    Versioned,
};
use tokio::{sync::Semaphore, time::timeout};

use crate::{answer::answer, body::RequestBody, ports::Ports, settings::Settings, state::State};

/// A catalogue that adds an animal for each permit.
struct Slow(Semaphore);

#[async_trait]
impl PetService for Slow {
    async fn add(&self, pet: NewPet, _: Option<Idempotency>) -> Result<Added, AddError> {
        let Ok(permit) = self.0.acquire().await else { unreachable!("it is never closed") };
        permit.forget();
        Ok(Added::Created(pet.with_id(PetId(1))))
    }

    async fn list(&self, _: PetQuery) -> Result<Versioned<PetPage>, StoreError> {
        Err(StoreError::unavailable("it only adds"))
    }

    async fn get(&self, _: PetId) -> Result<Option<Versioned<Pet>>, StoreError> {
        Err(StoreError::unavailable("it only adds"))
    }

    fn version(&self) -> Option<CatalogueVersion> {
        None
    }
}

async fn create(state: Arc<State>, key: &str) -> u16 {
    let request = Request::post("/v1/pets")
        .header("host", "a")
        .header("authorization", format!("Bearer {key}"))
        .header("content-type", "application/json")
        .body(Full::new(Bytes::from_static(br#"{"name":"Rex","categoryId":1}"#)))
        .unwrap();
    let (mut head, mut body) = request.into_parts();
    let mut body = RequestBody::new(&mut body, &state.body_memory);
    let peer = SocketAddr::from(([127, 0, 0, 1], 4711)).into();
    answer(&state, peer, &mut head, &mut body).await.status().as_u16()
}

#[tokio::test(start_paused = true)]
async fn thousands_of_additions_of_one_key_do_not_hold_up_another_key() {
    let slow = Arc::new(Slow(Semaphore::new(0)));
    let mut authenticator = MockAuthenticator::new();
    authenticator.expect_key_label().returning(|_| None);
    authenticator.expect_authenticate().returning(|secret: &ApiKeySecret| {
        Ok(Caller { digest: secret.digest(), rights: KeyRights::Full })
    });
    let ports = Ports {
        pets: slow.clone(),
        authenticator: Arc::new(authenticator),
        clock: Arc::new(ManualClock::new(Timestamp(0))),
    };
    let state = Arc::new(State::new(ports, Settings::default(), None));
    let greedy: Vec<_> =
        (0..7000).map(|_| tokio::spawn(create(Arc::clone(&state), "greedy"))).collect();
    tokio::time::sleep(Duration::from_millis(1)).await;
    let modest = tokio::spawn(create(Arc::clone(&state), "modest"));
    tokio::time::sleep(Duration::from_millis(1)).await;
    // The additions that were with the store already, and one turn of the other key.
    slow.0.add_permits(2050);
    let answer = timeout(Duration::from_secs(1), modest).await.expect("it has its turn").unwrap();
    assert_eq!(answer, 201);
    slow.0.add_permits(7000);
    let (mut created, mut refused) = (0, 0);
    for answer in greedy {
        match answer.await.unwrap() {
            201 => created += 1,
            503 => refused += 1,
            other => panic!("{other}"),
        }
    }
    assert_eq!((created, refused), (2048 + 4095, 7000 - 2048 - 4095), "it had all other places");
}
