//! Group commit: queued additions share a transaction, and a refused one fails alone.

use std::{
    fs,
    os::unix::fs::FileExt as _,
    sync::Arc,
    task::{Context, Waker},
};

use petstore_domain::{
    AddError, Added, Fingerprint, IdempotencyId, IdempotencyRequest, NewPet, PetId, PetName,
    PetRepository, PetStatus, StoreError, Timestamp,
};
use petstore_storage::writer::MAX_QUEUE;
use rusqlite::Connection;
use tokio::task::JoinSet;

use super::{Place, add, block_writer, found, in_time, rex};
use crate::{connection::Statements, error::Failure, pets::rows, store::SqliteStore};

#[tokio::test]
async fn queued_additions_are_committed_together() {
    let place = Place::new();
    let store = Arc::new(place.open());
    let release = block_writer(&store).await;
    let mut group = JoinSet::new();
    for _ in 0..50 {
        let store = Arc::clone(&store);
        group.spawn(async move { store.add(rex(), None).await });
    }
    tokio::task::yield_now().await;
    drop(release);
    assert!(in_time(group.join_all()).await.iter().all(Result::is_ok));
    // One commit of the blocking write, and one of the group.
    assert_eq!((store.activity().commits, store.activity().writes), (2, 51));
    assert_eq!(place.count(), 50);
}

#[tokio::test]
async fn a_group_succeeds_after_a_failed_group() {
    let place = Place::new();
    let store = place.open();
    let raw = place.raw();
    raw.execute("ALTER TABLE pet RENAME TO away", []).unwrap();
    let (one, two) = tokio::join!(store.add(rex(), None), store.add(rex(), None));
    for answer in [one, two] {
        let message = answer.unwrap_err().to_string();
        assert!(
            message.ends_with("the transaction was rolled back: no such table: pet"),
            "{message}"
        );
    }
    raw.execute("ALTER TABLE away RENAME TO pet", []).unwrap();
    assert_eq!(add(&store).await.id, PetId(1));
}

#[tokio::test]
async fn a_failed_write_is_undone_and_the_additions_beside_it_are_committed() {
    let place = Place::new();
    let store = Arc::new(place.open());
    let release = block_writer(&store).await;
    let failing = Arc::clone(&store);
    let failed = tokio::spawn(async move {
        let work = |connection: &Connection| {
            rows::insert(&mut Statements::new(connection), &rex())?;
            Ok(connection.execute_batch("INSERT INTO nowhere VALUES (1)")?)
        };
        failing.writer().unwrap().write(work).await
    });
    let adding = Arc::clone(&store);
    let added = tokio::spawn(async move { add(&adding).await });
    tokio::task::yield_now().await;
    drop(release);
    let message = in_time(failed).await.unwrap().unwrap_err().to_string();
    assert!(message.contains("no such table: nowhere"), "{message}");
    in_time(added).await.unwrap();
    assert_eq!(place.count(), 1);
    assert_eq!(store.activity().commits, 2);
}

#[tokio::test]
async fn a_write_that_is_refused_does_not_undo_the_additions_of_its_group() {
    let place = Place::new();
    let store = Arc::new(place.open());
    let release = block_writer(&store).await;
    let refusing = Arc::clone(&store);
    let refused = tokio::spawn(async move {
        let work = |_: &Connection| Err(Failure::from(StoreError::sealed("as asked")));
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

/// A unique index of the operator refuses one addition of a group. The index on the name refuses its first statement.
/// The index on the record's time refuses its second statement, after the animal was inserted.
#[tokio::test]
async fn a_refused_addition_fails_alone_and_leaves_no_row() {
    for (index, constraint) in
        [("pet (name)", "pet.name (index own)"), ("idempotency (created_at)", "at (index own)")]
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
        // One commit of the blocking write, and one of the group.
        assert_eq!(store.activity().commits, 2, "{index}");
    }
}

/// Sixty-four queued additions share one commit, although an index refuses one of them. The index refuses the first or
/// the second statement of this addition.
#[tokio::test]
async fn a_refused_addition_and_its_group_take_one_commit() {
    for index in ["pet (name) WHERE name = 'offender'", "idempotency (created_at)"] {
        let place = Place::new();
        let store = Arc::new(place.open());
        place.raw().execute_batch(&format!("CREATE UNIQUE INDEX own ON {index}")).unwrap();
        store.add(named("offender"), Some(request(0, 7))).await.unwrap();
        for round in 1..=20 {
            let release = block_writer(&store).await;
            let commits = store.activity().commits;
            let mut others = JoinSet::new();
            for number in 0..63 {
                let (store, request) = (Arc::clone(&store), request(number + 1, round * 1000));
                let request = (number == 62 && index.starts_with("pet")).then_some(request);
                others.spawn(async move { store.add(rex(), request).await });
            }
            let offender = Arc::clone(&store);
            let offence =
                async move { offender.add(named("offender"), Some(request(99, 7))).await };
            let offence = tokio::spawn(offence);
            while store.activity().write_queue < 64 {
                tokio::task::yield_now().await;
            }
            drop(release);
            let refused = in_time(offence).await.unwrap();
            assert!(is_refused(&refused, "UNIQUE constraint failed"), "{refused:?}");
            let added = in_time(others.join_all()).await.into_iter().flatten().count();
            assert_eq!(added, 63, "{index}");
            assert_eq!(
                store.activity().commits,
                commits + 2,
                "not one commit for the blocking write and one for the group: {index}"
            );
        }
    }
}

/// Overwrites the first page of the index of sold animals.
fn damage_sold(place: &Place) {
    let root = "SELECT rootpage FROM sqlite_schema WHERE name = 'pet_sold'";
    let page: u32 = place.raw().query_row(root, [], |row| row.get(0)).unwrap();
    let file = fs::OpenOptions::new().write(true).open(place.path()).unwrap();
    file.write_all_at(&[0; 4096], u64::from(page - 1) * 4096).unwrap();
}

#[tokio::test]
async fn a_damaged_index_fails_only_the_additions_of_its_status() {
    let place = Place::new();
    add(&place.open()).await;
    damage_sold(&place);
    let store = Arc::new(place.open());
    let release = block_writer(&store).await;
    let additions = [None, Some(PetStatus::Sold), Some(PetStatus::Pending)].map(|status| {
        let store = Arc::clone(&store);
        tokio::spawn(async move { store.add(NewPet { status, ..rex() }, None).await })
    });
    tokio::task::yield_now().await;
    drop(release);
    let [one, damaged, other] = additions;
    let message = in_time(damaged).await.unwrap().unwrap_err().to_string();
    assert!(message.ends_with("database disk image is malformed"), "{message}");
    for addition in [one, other] {
        in_time(addition).await.unwrap().unwrap();
    }
    assert_eq!(place.count(), 3, "the two other additions are not in the file");
}

/// A repeat stores no new row, so it succeeds although such a row would be refused, or its index is damaged.
#[tokio::test]
async fn a_repeat_is_answered_although_its_row_could_not_be_stored() {
    let refuse = |place: &Place| {
        place.raw().execute_batch("CREATE UNIQUE INDEX own ON pet (name)").unwrap();
    };
    for spoil in [refuse as fn(&Place), damage_sold] {
        let place = Place::new();
        let sold = NewPet { status: Some(PetStatus::Sold), ..rex() };
        let request = IdempotencyRequest::new(IdempotencyId([1; 16]), &sold, Timestamp(100));
        place.open().add(sold.clone(), Some(request)).await.unwrap();
        spoil(&place);
        let store = Arc::new(place.open());
        let release = block_writer(&store).await;
        let other = IdempotencyRequest { fingerprint: Fingerprint([0; 32]), ..request };
        let additions =
            [(named("Bello"), None), (sold.clone(), Some(request)), (sold.clone(), Some(other))];
        let [added, repeat, reused] = additions.map(|(pet, request)| {
            let store = Arc::clone(&store);
            tokio::spawn(async move { store.add(pet, request).await })
        });
        tokio::task::yield_now().await;
        drop(release);
        assert!(matches!(in_time(added).await.unwrap(), Ok(Added::Created(_))));
        let repeated = Added::Replayed(sold.with_id(PetId(1)));
        assert_eq!(in_time(repeat).await.unwrap().unwrap(), repeated);
        assert!(matches!(in_time(reused).await.unwrap(), Err(AddError::IdempotencyKeyReused)));
    }
}

#[tokio::test]
async fn an_addition_abandoned_while_the_writer_waits_for_the_lock_is_not_written() {
    let place = Place::new();
    let store = SqliteStore::open(&place.config()).unwrap(); // This store waits long for the lock.
    let raw = place.raw();
    raw.execute_batch("BEGIN IMMEDIATE").unwrap();
    let mut abandoned = store.add(rex(), None);
    assert!(abandoned.as_mut().poll(&mut Context::from_waker(Waker::noop())).is_pending());
    // The writer takes the job from the queue, and waits for the lock.
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
async fn two_requests_with_one_key_in_one_transaction_add_one_animal() {
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
async fn a_full_queue_refuses_at_once_and_recovers() {
    let place = Place::new();
    let store = Arc::new(place.open());
    let release = block_writer(&store).await;
    let mut waiting: Vec<_> = (0..MAX_QUEUE).map(|_| store.add(rex(), None)).collect();
    for addition in &mut waiting {
        assert!(addition.as_mut().poll(&mut Context::from_waker(Waker::noop())).is_pending());
    }
    let refusal = in_time(store.add(rex(), None)).await.unwrap_err().to_string();
    assert_eq!(refusal, "the store cannot answer: the writer's queue is full (4096 writes wait)");
    // Reads continue.
    assert!(!found(&store, PetId(1)).await);
    drop(release);
    for addition in waiting {
        in_time(addition).await.unwrap();
    }
    assert_eq!(add(&store).await.id, PetId(4097));
}
