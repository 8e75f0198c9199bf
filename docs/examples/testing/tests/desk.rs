//! The desk, tested with mocks and with a store in memory.

#![expect(clippy::unwrap_used, reason = "tests")]

use std::{sync::Arc, time::Duration};

use example_testing::{AdoptionDesk, Refusal};
use mockall::predicate::eq;
use petstore_domain::{
    AddError, Added, Catalogue, CategoryId, Idempotency, IdempotencyKey, KeyDigest, ManualClock,
    MockPetService, NewPet, PetId, PetName, PetStatus, StoreError, Timestamp,
};
use petstore_memory::MemoryStore;

fn pet(name: &str, status: PetStatus) -> NewPet {
    let name = PetName::parse(name).unwrap();
    NewPet { name, category_id: CategoryId(1), status: Some(status) }
}

fn form(number: &str) -> Idempotency {
    let key = IdempotencyKey::parse(number).unwrap();
    Idempotency { caller: KeyDigest([1; 32]), key }
}

// A mock that expects nothing fails the test at the first call.
#[tokio::test]
async fn the_catalogue_is_not_asked_about_a_sold_animal() {
    let desk = AdoptionDesk::new(Arc::new(MockPetService::new()));
    let refusal = desk.take_in(pet("Rex", PetStatus::Sold), form("1")).await;
    assert!(matches!(refusal, Err(Refusal::AlreadySold)));
}

#[tokio::test]
async fn the_number_of_the_form_is_the_idempotency_key() {
    let rex = pet("Rex", PetStatus::Available);
    let mut pets = MockPetService::new();
    pets.expect_add()
        .once()
        .with(eq(rex.clone()), eq(Some(form("7"))))
        .returning(|pet, _| Ok(Added::Created(pet.with_id(PetId(1)))));
    let desk = AdoptionDesk::new(Arc::new(pets));
    desk.take_in(rex, form("7")).await.unwrap();
}

// A mock can fail at will, which no store in memory does.
#[tokio::test]
async fn the_sign_says_something_while_the_catalogue_cannot_be_reached() {
    let mut pets = MockPetService::new();
    pets.expect_list().once().returning(|_| Err(StoreError::unavailable("the disk is gone")));
    let desk = AdoptionDesk::new(Arc::new(pets));
    assert_eq!(desk.sign().await, "Please ask at the desk.");
}

/// The real catalogue over a store in memory, and its clock.
fn catalogue() -> (Arc<Catalogue>, Arc<ManualClock>) {
    let clock = Arc::new(ManualClock::new(Timestamp(1_800_000_000_000)));
    (Arc::new(Catalogue::new(Arc::new(MemoryStore::new()), clock.clone())), clock)
}

#[tokio::test]
async fn everybody_who_waits_is_found_on_every_page() {
    let (catalogue, _clock) = catalogue();
    let desk = AdoptionDesk::new(catalogue);
    assert_eq!(desk.sign().await, "Nobody is waiting today.");
    for number in 0..250 {
        let status = PetStatus::ALL[number % 2];
        desk.take_in(pet("Rex", status), form(&number.to_string())).await.unwrap();
    }
    assert_eq!(desk.sign().await, "125 waiting for you!");
}

#[tokio::test]
async fn a_form_may_be_used_again_after_a_day() {
    let (catalogue, clock) = catalogue();
    let desk = AdoptionDesk::new(catalogue);
    for _ in 0..2 {
        desk.take_in(pet("Rex", PetStatus::Available), form("7")).await.unwrap();
    }
    assert_eq!(desk.waiting().await.unwrap().len(), 1);
    clock.advance(Duration::from_hours(24));
    desk.take_in(pet("Rex", PetStatus::Available), form("7")).await.unwrap();
    assert_eq!(desk.waiting().await.unwrap().len(), 2);
}

#[tokio::test]
async fn a_form_that_is_sent_twice_enters_one_animal() {
    let (catalogue, _clock) = catalogue();
    let desk = AdoptionDesk::new(catalogue);
    for _ in 0..2 {
        desk.take_in(pet("Rex", PetStatus::Available), form("7")).await.unwrap();
    }
    assert_eq!(desk.waiting().await.unwrap().len(), 1);
    let other = desk.take_in(pet("Bello", PetStatus::Available), form("7")).await;
    assert!(matches!(other, Err(Refusal::Catalogue(AddError::IdempotencyKeyReused))));
}
