//! Group commit.

use std::{
    sync::{
        Arc,
        atomic::{AtomicBool, Ordering},
    },
    task::{Context, Waker},
};

use petstore_domain::{
    AddError, Added, Fingerprint, IdempotencyId, IdempotencyRequest, NewPet, PetId, PetName,
    PetRepository, StoreError, Timestamp,
};
use petstore_storage::writer::MAX_QUEUE;
use rusqlite::Connection;
use tokio::task::JoinSet;

use super::{Place, add, block_writer, found, in_time, rex};
use crate::{error::Failure, pets::rows, store::SqliteStore};

#[tokio::test]
async fn writes_that_wait_are_committed_together_and_answered_afterwards() {
    let place = Place::new();
    let store = Arc::new(place.open());
    let release = block_writer(&store).await;
    let mut group = JoinSet::new();
    for _ in 0..50 {
        let (store, raw) = (Arc::clone(&store), place.raw());
        group.spawn(async move {
            let work = move |connection: &Connection| {
                rows::insert(connection, &rex())?;
                // What another process sees while this write runs.
                Ok(raw.query_row("SELECT count(*) FROM pet", [], |row| row.get::<_, i64>(0))?)
            };
            store.writer().unwrap().write(work).await
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
async fn what_is_no_job_s_own_fault_rolls_back_its_group_and_no_other() {
    let place = Place::new();
    let store = Arc::new(place.open());
    add(&store).await;
    let release = block_writer(&store).await;
    let mut group = JoinSet::new();
    for number in 0..3 {
        let store = Arc::clone(&store);
        group.spawn(async move {
            if number == 1 {
                let wrong = |connection: &Connection| {
                    Ok(connection.execute_batch("INSERT INTO nowhere VALUES (1)")?)
                };
                store.writer().unwrap().write(wrong).await.map_err(AddError::from)
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
async fn a_write_that_has_no_answer_but_an_error_leaves_the_rest_of_its_group() {
    let place = Place::new();
    let store = Arc::new(place.open());
    let release = block_writer(&store).await;
    let refusing = Arc::clone(&store);
    let refused = tokio::spawn(async move {
        let work = |_: &Connection| Err(Failure::Answer(StoreError::sealed("as asked")));
        refusing.writer().unwrap().write::<()>(work).await
    });
    let adding = Arc::clone(&store);
    let added = tokio::spawn(async move { add(&adding).await });
    tokio::task::yield_now().await;
    drop(release);
    assert!(matches!(in_time(refused).await.unwrap(), Err(StoreError::Sealed(_))));
    assert!(found(&store, in_time(added).await.unwrap().id).await);
}

fn named(name: &str) -> NewPet {
    NewPet { name: PetName::parse(name).unwrap(), ..rex() }
}

fn request(number: u8, at: i64) -> IdempotencyRequest {
    IdempotencyRequest::new(IdempotencyId([number; 16]), &rex(), Timestamp(at))
}

fn is_refused(result: &Result<Added, AddError>, constraint: &str) -> bool {
    let Err(AddError::Store(StoreError::Refused(reason))) = result else { return false };
    reason.contains(constraint)
}

/// Of additions that wait together, the middle ones are refused by a unique index of the operator: by its name at its
/// first statement, and by the time of its record, when the animal is already there.
#[tokio::test]
async fn an_addition_that_a_constraint_refuses_fails_alone_and_leaves_nothing() {
    for (index, constraint) in
        [("pet (name)", "pet.name"), ("idempotency (created_at)", "created_at")]
    {
        let place = Place::new();
        let store = Arc::new(place.open());
        place.raw().execute_batch(&format!("CREATE UNIQUE INDEX own ON {index}")).unwrap();
        let release = block_writer(&store).await;
        let mut additions = Vec::new();
        for (name, request) in [
            ("a", Some(request(1, 7))),
            ("a", Some(request(2, 7))),
            ("b", None),
            ("c", Some(request(3, 9))),
        ] {
            let store = Arc::clone(&store);
            additions.push(tokio::spawn(async move { store.add(named(name), request).await }));
            tokio::task::yield_now().await;
        }
        drop(release);
        let mut answers = Vec::new();
        for addition in additions {
            answers.push(in_time(addition).await.unwrap());
        }
        assert!(is_refused(&answers[1], constraint), "{answers:?}");
        drop(answers.remove(1));
        let ids = answers.into_iter().map(|answer| match answer.unwrap() {
            Added::Created(pet) => pet.id.0,
            Added::Replayed(pet) => panic!("{pet:?}"),
        });
        assert_eq!(ids.collect::<Vec<_>>(), [1, 2, 3], "{index}");
        assert_eq!(place.count(), 3, "{index}");
        let sql = "SELECT count(*) FROM idempotency";
        assert_eq!(place.raw().query_row(sql, [], |row| row.get::<_, i64>(0)).unwrap(), 2);
        // A commit of the block, and one of the group.
        assert_eq!(store.activity().commits, 2, "{index}");
    }
}

/// Adds until `ended`; returns how often that succeeded.
async fn add_until(store: Arc<SqliteStore>, ended: Arc<AtomicBool>) -> u32 {
    let mut added = 0;
    while !ended.load(Ordering::Relaxed) {
        store.add(rex(), None).await.unwrap();
        added += 1;
    }
    added
}

/// By counts: while the offender is refused so often, each of the others could succeed as often.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn beside_an_offender_sixty_three_writers_keep_more_than_half_of_their_throughput() {
    const REFUSALS: u32 = 100;
    for index in ["pet (name) WHERE name = 'offender'", "idempotency (created_at)"] {
        let place = Place::new();
        let store = Arc::new(place.open());
        place.raw().execute_batch(&format!("CREATE UNIQUE INDEX own ON {index}")).unwrap();
        let offend = |number| store.add(named("offender"), Some(request(number, 7)));
        offend(0).await.unwrap();
        let ended = Arc::new(AtomicBool::new(false));
        let mut others = JoinSet::new();
        for _ in 0..63 {
            others.spawn(add_until(Arc::clone(&store), Arc::clone(&ended)));
        }
        for _ in 0..REFUSALS {
            let refused = in_time(offend(1)).await;
            assert!(is_refused(&refused, "UNIQUE constraint failed"), "{refused:?}");
        }
        ended.store(true, Ordering::Relaxed);
        let added: u32 = in_time(others.join_all()).await.into_iter().sum();
        assert!(added > REFUSALS * 63 / 2, "{index}: {added}");
    }
}

#[tokio::test]
async fn an_addition_whose_caller_is_gone_when_the_lock_is_there_is_not_carried_out() {
    let place = Place::new();
    let store = SqliteStore::open(&place.config()).unwrap(); // It waits long for the lock.
    let raw = place.raw();
    raw.execute_batch("BEGIN IMMEDIATE").unwrap();
    let mut abandoned = store.add(rex(), None);
    assert!(abandoned.as_mut().poll(&mut Context::from_waker(Waker::noop())).is_pending());
    // The writer takes it from the queue, and waits for the lock.
    in_time(async {
        while store.activity().write_queue > 0 {
            tokio::task::yield_now().await;
        }
    })
    .await;
    drop(abandoned);
    raw.execute_batch("ROLLBACK").unwrap();
    assert_eq!(add(&store).await.id, PetId(1));
    assert_eq!(place.count(), 1);
}

#[tokio::test]
async fn two_requests_in_one_transaction_add_one_animal() {
    let place = Place::new();
    let store = Arc::new(place.open());
    let release = block_writer(&store).await;
    let request = request(1, 100);
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
