//! [`Catalogue`] over a store in memory.

use std::{sync::Arc, time::Duration};

use petstore_domain::{
    AddError, Added, Catalogue, CategoryId, CursorPosition, Idempotency, IdempotencyKey, KeyDigest,
    NewPet, PageLimit, PetId, PetName, PetQuery, PetService, PetStatus,
};

use crate::support::{TestClock, parts};

fn catalogue() -> (Catalogue, Arc<TestClock>) {
    let (store, clock) = parts();
    (Catalogue::new(store, Arc::clone(&clock) as _), clock)
}

fn new_pet(name: &str, status: Option<PetStatus>) -> NewPet {
    NewPet { name: PetName::parse(name).unwrap(), category_id: CategoryId(1), status }
}

fn once(caller: u8) -> Idempotency {
    let key = IdempotencyKey::parse("once").unwrap();
    Idempotency { caller: KeyDigest([caller; 32]), key }
}

#[tokio::test]
async fn a_walk_returns_every_animal_of_the_filter() {
    let (catalogue, _clock) = catalogue();
    for number in 0..45 {
        let status = if number % 3 == 0 { Some(PetStatus::Sold) } else { None };
        catalogue.add(new_pet("Rex", status), None).await.unwrap();
    }
    let filter = Some(PetStatus::Sold);
    let limit = PageLimit::parse("4").unwrap();
    let mut query = PetQuery { limit, status: filter, after: None };
    let mut ids = Vec::new();
    loop {
        let page = catalogue.list(query).await.unwrap().value;
        ids.extend(page.pets.iter().map(|pet| pet.id.0));
        let Some(position) = CursorPosition::following(&page, &query) else { break };
        assert!(position.resume(limit, None).is_err());
        query = position.resume(limit, filter).unwrap();
    }
    assert_eq!(ids, (1..=45).step_by(3).collect::<Vec<_>>());
}

#[tokio::test]
async fn an_animal_is_found_under_its_identifier() {
    let (catalogue, _clock) = catalogue();
    let Added::Created(pet) = catalogue.add(new_pet("Rex", None), None).await.unwrap() else {
        panic!("the animal was not new")
    };
    let found = catalogue.get(pet.id).await.unwrap();
    assert_eq!((found.value, found.version), (Some(pet), catalogue.version()));
    assert!(catalogue.get(PetId(2)).await.unwrap().value.is_none());
}

#[tokio::test]
async fn an_addition_happens_once_in_24_hours_for_each_caller() {
    let (catalogue, clock) = catalogue();
    let rex = || new_pet("Rex", None);
    assert!(matches!(catalogue.add(rex(), Some(once(1))).await, Ok(Added::Created(_))));
    clock.advance(Duration::from_millis(86_399_999));
    assert!(matches!(catalogue.add(rex(), Some(once(1))).await, Ok(Added::Replayed(_))));
    assert!(matches!(catalogue.add(rex(), Some(once(2))).await, Ok(Added::Created(_))));
    let other = catalogue.add(new_pet("Rex", Some(PetStatus::Sold)), Some(once(1))).await;
    assert!(matches!(other, Err(AddError::IdempotencyKeyReused)));
    clock.advance(Duration::from_millis(1));
    assert!(matches!(catalogue.add(rex(), Some(once(1))).await, Ok(Added::Created(_))));
}

#[tokio::test]
async fn a_record_is_still_valid_after_the_clock_is_set_back() {
    let (catalogue, clock) = catalogue();
    let rex = || new_pet("Rex", None);
    catalogue.add(rex(), Some(once(1))).await.unwrap();
    clock.set_back(Duration::from_hours(48));
    assert!(matches!(catalogue.add(rex(), Some(once(1))).await, Ok(Added::Replayed(_))));
}

#[tokio::test]
async fn records_are_purged_an_hour_after_they_have_expired() {
    let (catalogue, clock) = catalogue();
    let rex = || new_pet("Rex", None);
    catalogue.add(rex(), Some(once(1))).await.unwrap();
    clock.advance(Duration::from_hours(12));
    catalogue.add(rex(), Some(once(2))).await.unwrap();
    // For an hour after its expiry, an instance whose clock is behind must still find the first record.
    let late = Duration::from_hours(1);
    clock.advance(Duration::from_millis(13 * 3_600_000 - 1));
    let moment = Duration::from_millis(1);
    for created in [false, true] {
        assert!(!catalogue.purge_expired_records().await.unwrap(), "nothing is left to purge");
        clock.set_back(late + moment);
        let first = catalogue.add(rex(), Some(once(1))).await.unwrap();
        assert_eq!(matches!(first, Added::Created(_)), created);
        assert!(matches!(catalogue.add(rex(), Some(once(2))).await, Ok(Added::Replayed(_))));
        clock.advance(late + 2 * moment);
    }
}
