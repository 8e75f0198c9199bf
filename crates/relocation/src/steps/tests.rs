//! What is done about a flip that somebody left half done.

use std::{sync::Arc, time::Duration};

use petstore_domain::{Relocatable as _, Relocation, Role};
use petstore_memory::MemoryStore;
use tokio::time::advance;

use super::{Rows, Steps, UNDO_AFTER};
use crate::{
    decision::{Decision, Place},
    side::Side,
};

/// A store with a row of this role and revision.
async fn store(role: Role, revision: i64) -> Arc<MemoryStore> {
    let store = Arc::new(MemoryStore::new());
    store.begin(Relocation::new(role, revision, "the peer")).await.unwrap();
    store
}

async fn rows(own: &Arc<MemoryStore>, other: &Arc<MemoryStore>) -> Rows {
    let [own, other] = [own, other].map(|store| Side::new(Arc::clone(store)));
    Rows::read(&own, &other).await.unwrap()
}

/// Helps once, with the rows as they are.
async fn help(
    steps: &mut Steps,
    [own, other]: [&Arc<MemoryStore>; 2],
    decides: &Arc<MemoryStore>,
) -> bool {
    steps.help(&rows(own, other).await, &Side::new(Arc::clone(decides))).await.unwrap()
}

async fn row(store: &MemoryStore) -> Relocation {
    store.relocation().await.unwrap().unwrap()
}

#[tokio::test]
async fn each_row_is_that_of_its_place() {
    let (own, other) = (store(Role::Deciding, 1).await, store(Role::Standby, 0).await);
    let rows = rows(&own, &other).await;
    assert_eq!(rows.decision, Some(Decision::Decides(Place::Own)));
    assert_eq!(rows.of(Place::Own), Some(&row(&own).await));
    assert_eq!(rows.of(Place::Other), Some(&row(&other).await));
}

#[tokio::test]
async fn the_next_revision_is_above_both() {
    for (own, other, next) in [(3, 6, 7), (6, 3, 7), (0, 0, 1)] {
        let stores = [store(Role::Standby, own).await, store(Role::Standby, other).await];
        assert_eq!(rows(&stores[0], &stores[1]).await.next_revision(), next);
    }
    let none = Arc::new(MemoryStore::new());
    assert_eq!(rows(&none, &none).await.next_revision(), 1);
}

#[tokio::test]
async fn a_store_that_shall_decide_is_opened_by_the_next_who_looks() {
    let (own, other) = (store(Role::Standby, 3).await, store(Role::Standby, 0).await);
    let mut steps = Steps::default();
    assert!(help(&mut steps, [&own, &other], &other).await);
    assert_eq!(row(&other).await, Relocation::new(Role::Deciding, 4, "the peer"));
    assert_eq!(row(&own).await.role, Role::Standby);
    assert!(!help(&mut steps, [&own, &other], &other).await, "it is open already");
}

#[tokio::test(start_paused = true)]
async fn a_store_that_drains_for_too_long_is_put_back() {
    let (own, other) = (store(Role::Draining, 2).await, store(Role::Standby, 0).await);
    let mut steps = Steps::default();
    assert!(!help(&mut steps, [&own, &other], &own).await, "the mover may still be there");
    advance(UNDO_AFTER.checked_sub(Duration::from_millis(1)).unwrap()).await;
    assert!(!help(&mut steps, [&own, &other], &own).await);
    advance(Duration::from_millis(1)).await;
    assert!(help(&mut steps, [&own, &other], &own).await);
    assert_eq!(row(&own).await, Relocation::new(Role::Deciding, 3, "the peer"));
}

#[tokio::test(start_paused = true)]
async fn a_store_that_drains_again_has_its_time_again() {
    let (own, other) = (store(Role::Draining, 2).await, store(Role::Standby, 0).await);
    let mut steps = Steps::default();
    help(&mut steps, [&own, &other], &own).await;
    advance(UNDO_AFTER).await;
    own.change(2, Relocation::new(Role::Draining, 4, "the peer")).await.unwrap();
    assert!(!help(&mut steps, [&own, &other], &own).await);
    advance(UNDO_AFTER).await;
    assert!(help(&mut steps, [&own, &other], &own).await);
}

#[tokio::test]
async fn nothing_is_done_when_nothing_is_left_half_done() {
    for (one, another) in [
        (Role::Deciding, Role::Standby),
        (Role::Moved, Role::Deciding),
        (Role::Deciding, Role::Deciding),
    ] {
        let (own, other) = (store(one, 1).await, store(another, 1).await);
        let mut steps = Steps::default();
        assert!(!help(&mut steps, [&own, &other], &own).await);
        assert_eq!((row(&own).await.role, row(&other).await.role), (one, another));
    }
}
