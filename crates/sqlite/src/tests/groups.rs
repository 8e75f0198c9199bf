//! Group commit: queued additions share a transaction, and a refused one fails alone.

use std::{fs, os::unix::fs::FileExt as _};

use petstore_domain::{
    AddError, Added, Fingerprint, IdempotencyId, IdempotencyRequest, NewPet, PetId, PetName,
    PetRepository, PetStatus, StoreError, Timestamp,
};
use rusqlite::Connection;

use super::{Place, add, begin, block_writer, in_time, known_version, rex};
use crate::{connection::Statements, error::Failure, pets::rows, store::SqliteStore};

/// Adds animals in one group. Returns the answers in the order of the animals.
pub(super) async fn add_group(
    store: &SqliteStore,
    group: Vec<(NewPet, Option<IdempotencyRequest>)>,
) -> Vec<Result<Added, AddError>> {
    let release = block_writer(store).await;
    let additions = group.into_iter().map(|(pet, request)| begin(store.add(pet, request)));
    let additions: Vec<_> = additions.collect();
    drop(release);
    let mut answers = Vec::new();
    for addition in additions {
        answers.push(in_time(addition).await);
    }
    answers
}

#[tokio::test]
async fn queued_additions_are_committed_together() {
    let place = Place::new();
    let store = place.open();
    let before = place.version();
    let answers = add_group(&store, vec![(rex(), None); 50]).await;
    assert_eq!(known_version(&store).await, place.version());
    assert_ne!(place.version(), before);
    assert!(answers.iter().all(Result::is_ok));
    // One commit of the blocking write, and one of the group.
    assert_eq!((store.activity().commits, store.activity().writes), (2, 51));
    assert_eq!(place.count(), 50);
}

#[tokio::test]
async fn a_failed_write_is_undone_and_the_additions_beside_it_are_committed() {
    type Work = fn(&Connection) -> Result<(), Failure>;
    let fails: Work = |connection| {
        rows::insert(&mut Statements::new(connection), &rex())?;
        Ok(connection.execute_batch("INSERT INTO nowhere VALUES (1)")?)
    };
    let refuses: Work = |_| Err(StoreError::sealed("as asked").into());
    for (work, reason) in [(fails, "no such table: nowhere"), (refuses, "as asked")] {
        let place = Place::new();
        let store = place.open();
        let release = block_writer(&store).await;
        let failed = begin(store.writer().unwrap().write(work));
        let added = begin(add(&store));
        drop(release);
        let message = in_time(failed).await.unwrap_err().to_string();
        assert!(message.contains(reason), "{message}");
        added.await;
        assert_eq!((place.count(), store.activity().commits), (1, 2), "{reason}");
    }
}

fn named(name: &str) -> NewPet {
    NewPet { name: PetName::parse(name).unwrap(), ..rex() }
}

fn request(number: u8, at: i64) -> IdempotencyRequest {
    IdempotencyRequest::new(IdempotencyId([number; 16]), &rex(), Timestamp(at))
}

/// A unique index of the operator refuses one of 64 additions. The index on the name refuses its first statement. The
/// index on the record's time refuses its second statement, after the animal was inserted.
#[tokio::test]
async fn a_refused_addition_fails_alone_and_its_group_takes_one_commit() {
    for (index, constraint) in [
        ("pet (name)", "pet.name (index own)"),
        ("pet (lower(name))", "index 'own'"),
        ("idempotency (created_at)", "at (index own)"),
    ] {
        let place = Place::new();
        let store = place.open();
        place.raw().execute_batch(&format!("CREATE UNIQUE INDEX own ON {index}")).unwrap();
        let mut group = vec![
            (named("a"), Some(request(1, 7))),
            (named("a"), Some(request(2, 7))),
            (named("c"), Some(request(3, 9))),
        ];
        group.extend((3..64).map(|number| (named(&format!("{number}")), None)));
        let mut answers = add_group(&store, group).await;
        match answers.remove(1) {
            Err(AddError::Store(StoreError::Refused(reason))) if reason.contains(constraint) => {}
            answer => panic!("{index}: {answer:?}"),
        }
        let ids = answers.into_iter().map(|answer| match answer.unwrap() {
            Added::Created(pet) => pet.id.0,
            Added::Replayed(pet) => panic!("{pet:?}"),
        });
        assert!(ids.eq(1..=63), "{index}");
        assert_eq!(place.count(), 63, "{index}");
        assert_eq!(place.number("SELECT count(*) FROM idempotency"), 2, "{index}");
        // One commit of the blocking write, and one of the group.
        assert_eq!(store.activity().commits, 2, "{index}");
    }
}

/// Overwrites the first page of the index of sold animals.
pub(crate) fn damage_sold(place: &Place) {
    let page = place.number("SELECT rootpage FROM sqlite_schema WHERE name = 'pet_sold'");
    let file = fs::OpenOptions::new().write(true).open(place.path()).unwrap();
    file.write_all_at(&[0; 4096], (page.unsigned_abs() - 1) * 4096).unwrap();
}

#[tokio::test]
async fn a_damaged_index_fails_only_the_additions_of_its_status() {
    let place = Place::new();
    add(&place.open()).await;
    damage_sold(&place);
    let store = place.open();
    let statuses = [None, Some(PetStatus::Sold), Some(PetStatus::Pending)];
    let group = statuses.map(|status| (NewPet { status, ..rex() }, None));
    let mut answers = add_group(&store, group.to_vec()).await;
    let message = answers.remove(1).unwrap_err().to_string();
    assert!(message.ends_with("database disk image is malformed"), "{message}");
    assert!(answers.iter().all(Result::is_ok), "{answers:?}");
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
        let store = place.open();
        let other = IdempotencyRequest { fingerprint: Fingerprint([0; 32]), ..request };
        let group = vec![
            (named("Bello"), None),
            (sold.clone(), Some(request)),
            (sold.clone(), Some(other)),
        ];
        let answers = add_group(&store, group).await;
        let [Ok(Added::Created(_)), Ok(repeated), Err(AddError::IdempotencyKeyReused)] =
            &answers[..]
        else {
            panic!("{answers:?}")
        };
        assert_eq!(*repeated, Added::Replayed(sold.with_id(PetId(1))));
    }
}

#[tokio::test]
async fn an_addition_abandoned_while_the_writer_waits_for_the_lock_is_not_written() {
    let place = Place::new();
    let store = SqliteStore::open(&place.config()).unwrap(); // This store waits long for the lock.
    let raw = place.raw();
    raw.execute_batch("BEGIN IMMEDIATE").unwrap();
    let abandoned = begin(store.add(rex(), None));
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
    assert_eq!((place.count(), store.activity().commits), (1, 1));
    // Another write is not run either.
    let release = block_writer(&store).await;
    drop(begin(store.writer().unwrap().write::<()>(|_| panic!("its caller has left"))));
    drop(release);
    add(&store).await;
}
