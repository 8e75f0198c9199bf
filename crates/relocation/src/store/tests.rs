use std::sync::{Arc, Mutex};

use async_trait::async_trait;
use petstore_domain::{
    CatalogueVersion, CategoryId, Differences, MockKeyStore, MockPetRepository, MockRelocatable,
    Pet, PetId, PetName, PetRepository as _, Relocation, Role, StoreError, Versioned,
};
use tokio::task::yield_now;

use super::{MAX_ROUNDS, RelocatingStore};
use crate::{
    decision::Place,
    side::{OpenSide, Side},
};

/// A store with the row that it has each time that it is asked; the last one counts from then on. Another party
/// is always faster to change it.
fn side(rows: &[(Role, i64)], max_asked: u32) -> Side {
    let mut relocation = MockRelocatable::new();
    let left = Mutex::new(rows.to_vec());
    relocation.expect_relocation().times(..=max_asked as usize).returning(move || {
        let mut left = left.lock().unwrap();
        let (role, revision) = if left.len() > 1 { left.remove(0) } else { left[0] };
        Ok(Some(Relocation::new(role, revision, "other")))
    });
    relocation.expect_change().returning(|_, _| Ok(false));
    Side {
        pets: Arc::new(MockPetRepository::new()),
        keys: Arc::new(MockKeyStore::new()),
        relocation: Arc::new(relocation),
    }
}

struct Opener(Side);

#[async_trait]
impl OpenSide for Opener {
    async fn open(&self, _: &str) -> Result<Side, StoreError> {
        Ok(self.0.clone())
    }

    fn shown(&self, url: &str) -> String {
        url.to_owned()
    }
}

/// Has left later than the other one, so that is to be opened.
const LEFT: (Role, i64) = (Role::Standby, 3);
const STANDBY: (Role, i64) = (Role::Standby, 0);
const DECIDING: (Role, i64) = (Role::Deciding, 4);

/// The mocks fail the test if they are asked more often.
#[tokio::test]
async fn stores_that_never_agree_are_asked_a_limited_number_of_times() {
    let (own, other) = (side(&[LEFT], 2 * MAX_ROUNDS + 1), side(&[STANDBY], MAX_ROUNDS));
    let refused = RelocatingStore::start(own, Arc::new(Opener(other))).await.map(drop);
    let refused = refused.unwrap_err().to_string();
    assert!(refused.ends_with("the two stores do not agree which of them decides"), "{refused}");
}

#[tokio::test]
async fn rows_that_have_changed_meanwhile_are_read_again() {
    let (own, other) = (side(&[LEFT], 5), side(&[STANDBY, DECIDING], 2));
    let store = RelocatingStore::start(own, Arc::new(Opener(other))).await.unwrap();
    assert_eq!(store.current.get().place, Place::Other);
}

#[tokio::test]
async fn the_route_stays_until_the_stores_agree() {
    let own = side(&[DECIDING, DECIDING, LEFT], 2 + 2 * MAX_ROUNDS + 2);
    let rows = [vec![STANDBY; MAX_ROUNDS as usize], vec![DECIDING]].concat();
    let other = side(&rows, MAX_ROUNDS + 1);
    let store = RelocatingStore::start(own, Arc::new(Opener(other))).await.unwrap();
    store.refresh().await.unwrap_err();
    assert_eq!(store.current.get().place, Place::Own);
    store.refresh().await.unwrap();
    assert_eq!(store.current.get().place, Place::Other);
}

/// A store that decides when the service is started, which reads its row twice, and then no longer answers.
fn lost() -> Side {
    let mut relocation = MockRelocatable::new();
    let row = Relocation::new(Role::Deciding, 1, "other");
    relocation.expect_relocation().times(2).returning(move || Ok(Some(row.clone())));
    relocation.expect_relocation().returning(|| Err(StoreError::unavailable("it is gone")));
    Side { relocation: Arc::new(relocation), ..side(&[DECIDING], 0) }
}

#[tokio::test]
async fn a_store_that_is_lost_after_a_flip_is_not_needed_to_see_it() {
    let other = side(&[DECIDING], 1);
    let store = RelocatingStore::start(lost(), Arc::new(Opener(other))).await.unwrap();
    assert_eq!(store.current.get().place, Place::Own);
    store.refresh().await.unwrap();
    assert_eq!(store.current.get().place, Place::Other);
}

#[tokio::test]
async fn while_the_other_store_does_not_decide_a_lost_one_is_waited_for() {
    for role in [Role::Standby, Role::Draining, Role::Moved] {
        let other = side(&[(role, 0)], 1);
        let opener = Arc::new(Opener(other));
        let store = RelocatingStore::start(lost(), opener).await.unwrap();
        let refused = store.refresh().await.unwrap_err().to_string();
        assert_eq!(refused, "the store cannot answer: it is gone", "{role:?}");
        assert_eq!(store.current.get().place, Place::Own);
    }
}

/// A store of one animal, in which that has this name.
fn with_animal(side: Side, name: &'static str) -> Side {
    let mut pets = MockPetRepository::new();
    pets.expect_version().returning(|| Some(CatalogueVersion(1)));
    pets.expect_find().returning(move |id| {
        let name = PetName::parse(name).unwrap();
        let value = Pet { id, name, category_id: CategoryId(1), status: None };
        Ok(Some(Versioned { value, version: Some(CatalogueVersion(1)) }))
    });
    Side { pets: Arc::new(pets), ..side }
}

#[tokio::test]
async fn what_a_cache_would_answer_is_compared_too() {
    let own = with_animal(side(&[DECIDING], 100), "Rex");
    let other = with_animal(side(&[STANDBY], 100), "Max");
    let store = RelocatingStore::start(own, Arc::new(Opener(other))).await.unwrap();
    store.current.set_horizon(Place::Own, Some(PetId(7)));
    // The first read is shadowed, as every sixteenth is.
    store.find(PetId(7)).await.unwrap();
    let mut read = 0;
    for _ in 0..64 {
        if store.version().is_none() {
            store.find(PetId(7)).await.unwrap();
            read += 1;
        }
        yield_now().await;
    }
    assert_eq!(read, 4);
    let last = Some("animal 7".to_owned());
    assert_eq!(store.shadow.take(), Differences { count: 1 + 4, last });
}
