//! Group commit.

use std::{
    sync::Arc,
    task::{Context, Waker},
};

use petstore_domain::{
    AddError, Added, Fingerprint, IdempotencyId, IdempotencyRequest, PetId, PetRepository,
    StoreError, Timestamp,
};
use rusqlite::Connection;
use tokio::task::JoinSet;

use super::{Place, add, block_writer, found, in_time, rex};
use crate::{error::Failure, pets::rows, writer::MAX_QUEUE};

#[tokio::test]
async fn writes_that_wait_are_committed_together_and_answered_afterwards() {
    let place = Place::new();
    let store = Arc::new(place.open());
    let release = block_writer(&store).await;
    let mut group = JoinSet::new();
    for _ in 0..50 {
        let (store, raw) = (Arc::clone(&store), place.raw());
        group.spawn(async move {
            let work = move |connection: &Connection, _: &mut _| {
                rows::insert(connection, rex())?;
                // What another process sees while this write runs.
                Ok(raw.query_row("SELECT count(*) FROM pet", [], |row| row.get::<_, i64>(0))?)
            };
            store.writer().unwrap().write::<i64, StoreError>(work).await
        });
    }
    tokio::task::yield_now().await;
    drop(release);
    for seen in in_time(group.join_all()).await {
        assert_eq!(seen.unwrap(), 0, "a write of the group was committed before the others");
    }
    assert_eq!(place.count(), 50);
}

#[tokio::test]
async fn a_write_that_fails_rolls_back_its_group_and_no_other() {
    let place = Place::new();
    let store = Arc::new(place.open());
    add(&store).await;
    let release = block_writer(&store).await;
    let mut group = JoinSet::new();
    for number in 0..3 {
        let store = Arc::clone(&store);
        group.spawn(async move {
            if number == 1 {
                let wrong = |connection: &Connection, _: &mut _| {
                    Ok(connection.execute_batch("INSERT INTO nowhere VALUES (1)")?)
                };
                store.writer().unwrap().write::<(), StoreError>(wrong).await.map_err(AddError::from)
            } else {
                store.add(rex(), None).await.map(|_| ())
            }
        });
    }
    tokio::task::yield_now().await;
    drop(release);
    for answer in in_time(group.join_all()).await {
        let message = answer.unwrap_err().to_string();
        assert!(message.contains("rolled back: no such table: nowhere"), "{message}");
    }
    assert_eq!(place.count(), 1);
    assert_eq!(add(&store).await.id, PetId(2));
}

#[tokio::test]
async fn a_refusal_leaves_the_rest_of_its_group() {
    let place = Place::new();
    let store = Arc::new(place.open());
    let release = block_writer(&store).await;
    let refusing = Arc::clone(&store);
    let refused = tokio::spawn(async move {
        let work = |_: &Connection, _: &mut _| Err(Failure::Answer(AddError::IdempotencyKeyReused));
        refusing.writer().unwrap().write::<(), AddError>(work).await
    });
    let adding = Arc::clone(&store);
    let added = tokio::spawn(async move { add(&adding).await });
    tokio::task::yield_now().await;
    drop(release);
    assert!(matches!(in_time(refused).await.unwrap(), Err(AddError::IdempotencyKeyReused)));
    assert!(found(&store, in_time(added).await.unwrap().id).await);
}

#[tokio::test]
async fn two_requests_in_one_transaction_add_one_animal() {
    let place = Place::new();
    let store = Arc::new(place.open());
    let release = block_writer(&store).await;
    let request = IdempotencyRequest::new(IdempotencyId([1; 16]), &rex(), Timestamp(100));
    let other = IdempotencyRequest { fingerprint: Fingerprint([0; 32]), ..request };
    let additions = [request, request, other].map(|request| {
        let store = Arc::clone(&store);
        tokio::spawn(async move { store.add(rex(), Some(request)).await })
    });
    tokio::task::yield_now().await;
    drop(release);
    let [first, second, third] = additions;
    let pet = rex().with_id(PetId(1));
    assert_eq!(in_time(first).await.unwrap().unwrap(), Added::Created(pet.clone()));
    assert_eq!(in_time(second).await.unwrap().unwrap(), Added::Replayed(pet));
    assert!(matches!(in_time(third).await.unwrap(), Err(AddError::IdempotencyKeyReused)));
}

#[tokio::test]
async fn a_full_queue_refuses_at_once_and_empties_again() {
    let place = Place::new();
    let store = Arc::new(place.open());
    let release = block_writer(&store).await;
    let mut waiting: Vec<_> = (0..MAX_QUEUE).map(|_| store.add(rex(), None)).collect();
    for addition in &mut waiting {
        assert!(addition.as_mut().poll(&mut Context::from_waker(Waker::noop())).is_pending());
    }
    let refusal = in_time(store.add(rex(), None)).await.unwrap_err().to_string();
    assert_eq!(refusal, "the store cannot answer: the writer's queue is full (4096 writes wait)");
    // Reads go on.
    assert!(!found(&store, PetId(1)).await);
    drop(release);
    for addition in waiting {
        in_time(addition).await.unwrap();
    }
    assert_eq!(add(&store).await.id, PetId(4097));
}
