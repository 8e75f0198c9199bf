//! The recent rows as the writer of a store and batches use them.

use std::sync::Arc;

use petstore_domain::{
    Added, Archive as _, Batch, CategoryId, IdempotencyId, IdempotencyRequest, NewPet, PetId,
    PetName, PetRepository as _, StoreError, Timestamp,
};
use rusqlite::{Connection, ffi};

use super::{Numbers, Place, missing, record};
use crate::{
    pets::idempotency::{
        self,
        recent::{RecentRecords, UNINDEXED},
    },
    store::SqliteStore,
};

fn rex() -> NewPet {
    NewPet { name: PetName::parse("Rex").unwrap(), category_id: CategoryId(1), status: None }
}

fn request(id: IdempotencyId) -> IdempotencyRequest {
    IdempotencyRequest::new(id, &rex(), Timestamp(0))
}

/// Adds animals with these keys at once, and says which were there before.
async fn add(store: &Arc<SqliteStore>, ids: &[IdempotencyId]) -> Vec<bool> {
    let mut tasks = Vec::new();
    for id in ids {
        let (store, request) = (Arc::clone(store), request(*id));
        tasks.push(tokio::spawn(async move { store.add(rex(), Some(request)).await.unwrap() }));
    }
    let mut replayed = Vec::new();
    for task in tasks {
        replayed.push(matches!(task.await.unwrap(), Added::Replayed(_)));
    }
    replayed
}

fn many_ids() -> Vec<IdempotencyId> {
    let mut numbers = Numbers(3);
    (0..UNINDEXED + 1_000).map(|_| numbers.id()).collect()
}

/// Opens the store anew.
async fn assert_all_are_known(place: &Place, ids: &[IdempotencyId]) {
    assert_eq!(missing(&place.raw()), None);
    let store = Arc::new(place.store());
    for some in ids.chunks(1_000) {
        assert!(!add(&store, some).await.contains(&false));
    }
}

#[tokio::test]
async fn a_store_knows_every_key_when_it_is_opened_again() {
    let place = Place::new();
    let ids = many_ids();
    let (store, other) = (Arc::new(place.store()), Arc::new(place.store()));
    for some in ids.chunks(1_000) {
        assert!(!add(&store, some).await.contains(&true));
        assert_eq!(add(&other, &some[..1]).await, [true], "another store on the file knows it");
    }
    drop((store, other));
    assert_all_are_known(&place, &ids).await;
}

#[tokio::test]
async fn a_store_that_batches_were_written_to_knows_every_key() {
    let place = Place::new();
    let store = Arc::new(place.store());
    let ids = many_ids();
    let (half, rest) = ids.split_at(ids.len() / 2);
    for (first, ids) in [(1, half), (half.len() + 1, rest)] {
        let numbers = (first..).map(|number| PetId(i64::try_from(number).unwrap()));
        let pets: Vec<_> = numbers.take(ids.len()).map(|id| rex().with_id(id)).collect();
        let records = ids.iter().zip(&pets).map(|(id, pet)| request(*id).into_record(pet.id));
        let records = records.collect();
        store.write(Batch { pets, records, ..Batch::default() }).await.unwrap();
        assert_eq!(add(&store, &ids[..1]).await, [true], "the store that was open knows it");
    }
    drop(store);
    assert_all_are_known(&place, &ids).await;
}

#[tokio::test]
async fn an_entry_that_names_the_row_of_another_id_means_nothing() {
    let place = Place::new();
    let store = Arc::new(place.store());
    let (mine, other) = (IdempotencyId([9; 16]), IdempotencyId([1; 16]));
    assert_eq!(add(&store, &[other]).await, [false]);
    let raw = place.raw();
    raw.execute("INSERT INTO idempotency_index (id, seq) VALUES (?1, 1)", [mine.0]).unwrap();
    assert!(matches!(idempotency::after(&raw, Some(other), 9), Ok(none) if none.is_empty()));
    assert_eq!(add(&store, &[mine]).await, [false]);
    assert_eq!(add(&store, &[mine, other]).await, [true, true]);
}

/// What the writer has in memory of `id`, in a transaction of its own.
async fn recent_row(store: &SqliteStore, id: IdempotencyId) -> Option<i64> {
    let row = move |connection: &Connection, recent: &mut RecentRecords| {
        recent.load(connection)?;
        Ok(recent.row(id))
    };
    store.writer().unwrap().write::<_, StoreError>(row).await.unwrap()
}

#[tokio::test]
async fn the_writer_reads_no_row_twice() {
    let place = Place::new();
    let store = Arc::new(place.store());
    let (id, other) = (IdempotencyId([9; 16]), IdempotencyId([1; 16]));
    add(&store, &[id]).await;
    // A transaction that reads the row again finds the other id.
    place.raw().execute("UPDATE idempotency SET id = ?1", [other.0]).unwrap();
    assert_eq!(recent_row(&store, other).await, None);
    store.add(rex(), None).await.unwrap();
    assert_eq!(recent_row(&store, other).await, None, "nor after one without records");
}

#[tokio::test]
async fn the_writer_reads_the_rows_again_when_it_has_rolled_back() {
    let place = Place::new();
    let store = Arc::new(place.store());
    let mut numbers = Numbers(7);
    let (kept, rolled_back) = (numbers.id(), numbers.id());
    add(&store, &[kept]).await;
    let fail = move |connection: &Connection, recent: &mut RecentRecords| {
        idempotency::write(connection, recent, None, &record(rolled_back, 1))?;
        Err(rusqlite::Error::SqliteFailure(ffi::Error::new(ffi::SQLITE_FULL), None).into())
    };
    assert!(store.writer().unwrap().write::<(), StoreError>(fail).await.is_err());
    assert_eq!(recent_row(&store, rolled_back).await, None);
    assert_eq!(recent_row(&store, kept).await, Some(1));
}
