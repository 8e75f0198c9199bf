//! The desk, tested with mocks and with a store in memory.

use std::{sync::Arc, time::Duration};

use example_testing::{AdoptionDesk, Refusal};
use petstore_domain::{
    AddError, Added, Catalogue, ManualClock, MockPetService, NewPet, PageLimit, PetId, PetPage,
    PetQuery, PetStatus, StoreError, Timestamp, Versioned,
    mocks::{Sequence, idempotency as form, new_pet, predicate::eq},
};
use petstore_memory::MemoryStore;

fn pet(name: &str, status: PetStatus) -> NewPet {
    NewPet { status: Some(status), ..new_pet(name) }
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

// The desk asks for the pages in order, each after the last animal of the previous page.
#[tokio::test]
async fn the_sign_counts_the_animals_of_every_page() {
    let (mut pets, mut sequence) = (MockPetService::new(), Sequence::new());
    let status = Some(PetStatus::Available);
    for (after, id, more) in [(None, PetId(3), true), (Some(PetId(3)), PetId(9), false)] {
        pets.expect_list()
            .once()
            .in_sequence(&mut sequence)
            .with(eq(PetQuery { limit: PageLimit::MAX, status, after }))
            .returning(move |_| {
                let pets = vec![new_pet("Rex").with_id(id)];
                Ok(Versioned { value: PetPage { pets, more }, version: None })
            });
    }
    assert_eq!(AdoptionDesk::new(Arc::new(pets)).sign().await, "2 waiting for you!");
}

// A mock can fail on demand; the store in memory cannot.
#[tokio::test]
async fn the_sign_refers_to_the_desk_while_the_catalogue_cannot_be_reached() {
    let mut pets = MockPetService::new();
    pets.expect_list().once().returning(|_| Err(StoreError::unavailable("the disk is gone")));
    let desk = AdoptionDesk::new(Arc::new(pets));
    assert_eq!(desk.sign().await, "Please ask at the desk.");
}

/// Returns the real catalogue over a store in memory, and the clock of the catalogue.
fn catalogue() -> (Arc<Catalogue>, Arc<ManualClock>) {
    let clock = Arc::new(ManualClock::new(Timestamp(1_800_000_000_000)));
    (Arc::new(Catalogue::new(Arc::new(MemoryStore::new()), clock.clone())), clock)
}

#[tokio::test]
async fn the_sign_counts_only_available_animals_over_several_pages() {
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
async fn a_form_sent_twice_enters_one_animal() {
    let (catalogue, _clock) = catalogue();
    let desk = AdoptionDesk::new(catalogue);
    for _ in 0..2 {
        desk.take_in(pet("Rex", PetStatus::Available), form("7")).await.unwrap();
    }
    assert_eq!(desk.waiting().await.unwrap().len(), 1);
    let other = desk.take_in(pet("Bello", PetStatus::Available), form("7")).await;
    assert!(matches!(other, Err(Refusal::Catalogue(AddError::IdempotencyKeyReused))));
}
