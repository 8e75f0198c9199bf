use std::sync::Arc;

use petstore_domain::{
    Archive, CorruptKey, Corruption, Fingerprint, IdempotencyId, IdempotencyRecord, MockArchive,
    MockKeyStore, MockPetRepository, MockSnapshot, Pet, PetId, PetPage, PetStatus, Rows, Snapshot,
    StoreCounts, StoreError, StoredKeys, Timestamp, Versioned, WriterRole, mocks::new_pet,
};
use petstore_memory::MemoryStore;
use petstore_storage::{Finding, Severity};

use super::{read_archive, read_rows, report};
use crate::{stores::OpenStore, system::Recorded};

/// Returns an animal whose status depends on its identifier: none, sold, pending.
fn pet(id: i64) -> Pet {
    let statuses = [None, Some(PetStatus::Sold), Some(PetStatus::Pending)];
    let status = statuses[usize::try_from(id % 3).unwrap()];
    Pet { status, ..new_pet("Rex").with_id(PetId(id)) }
}

/// Returns a repository of the animals below 10,500 as `now` returns them. Its lists lack the `lost` animals.
fn repository(now: fn(i64) -> Option<Pet>, lost: fn(i64) -> bool) -> MockPetRepository {
    let mut pets = MockPetRepository::new();
    pets.expect_find().returning(move |id| Ok(Versioned { value: now(id.0), version: None }));
    // A check that repeats a page without end fails.
    pets.expect_list().times(..5_000).returning(move |query| {
        let mut listed = (1..10_500)
            .filter(|id| !lost(*id))
            .filter_map(now)
            .filter(|pet| pet.status == query.status && Some(pet.id) > query.after);
        let pets = listed.by_ref().take(query.limit.get().into()).collect();
        let value = PetPage { pets, more: listed.next().is_some() };
        Ok(Versioned { value, version: None })
    });
    pets
}

async fn filled() -> MemoryStore {
    let store = MemoryStore::new();
    let rows = Rows { pets: (1..=999).map(pet).collect(), ..Rows::default() };
    store.write_rows(WriterRole::Service, rows).await.unwrap();
    store
}

#[tokio::test]
async fn an_animal_missing_from_the_list_of_its_status_is_a_fault() {
    let (store, unchanged) = (filled().await, |id| Some(pet(id)));
    let sound = read_archive(&store, &repository(unchanged, |_| false)).await.unwrap();
    assert_eq!(sound.severity, Severity::Ok);
    assert!(sound.detail.starts_with("999 read, "), "{}", sound.detail);

    // The lists lack the sold animals from 940 on, and one pending animal.
    let lists = repository(unchanged, |id| id == 998 || id >= 940 && id % 3 == 1);
    let finding = read_archive(&store, &lists).await.unwrap();
    assert_eq!(finding.severity, Severity::Error);
    assert!(finding.detail.ends_with("; 940 is not in the list of sold"), "{}", finding.detail);
    // A later batch lacks nothing.
    let rows = Rows { pets: (6_000..10_500).map(pet).collect(), ..Rows::default() };
    store.write_rows(WriterRole::Service, rows).await.unwrap();
    let lists = repository(unchanged, |id| id == 3 || id == 940);
    let finding = read_archive(&store, &lists).await.unwrap();
    assert!(finding.detail.contains("; 940 is not in"), "{}", finding.detail);
}

#[tokio::test]
async fn an_animal_changed_or_deleted_since_the_snapshot_is_no_fault() {
    // Meanwhile, the sold animals with even identifiers have become pending, and the other sold animals were deleted.
    let now = |id| match pet(id) {
        sold if sold.status == Some(PetStatus::Sold) => {
            (id % 2 == 0).then_some(Pet { status: Some(PetStatus::Pending), ..sold })
        }
        other => Some(other),
    };
    let finding = read_archive(&filled().await, &repository(now, |_| false)).await.unwrap();
    assert_eq!(finding.severity, Severity::Ok);
}

/// Returns an open store without an archive. Loading its keys returns the result of `loaded`.
fn with_keys(loaded: fn() -> Result<StoredKeys, StoreError>) -> OpenStore {
    let mut keys = MockKeyStore::new();
    keys.expect_load().returning(move |_| loaded().map(Some));
    let mut store = OpenStore::new(Arc::new(MemoryStore::new()));
    store.keys = Arc::new(keys);
    store
}

fn with_archive(snapshot: fn() -> Result<Box<dyn Snapshot>, StoreError>) -> OpenStore {
    let mut archive = MockArchive::new();
    archive.expect_snapshot().returning(snapshot);
    OpenStore::new(Arc::new(MemoryStore::new())).with_archive(Arc::new(archive))
}

/// Returns a snapshot with one record, which fails to read the `broken` rows: `counts`, `pets`, `records`, the records
/// after the `first record`, or none (`""`).
fn snapshot(broken: &'static str) -> Box<dyn Snapshot> {
    let read = move |rows| {
        if rows == broken { Err(Corruption::new("a row", "a rule").into()) } else { Ok(()) }
    };
    let record = IdempotencyRecord {
        id: IdempotencyId([1; 16]),
        fingerprint: Fingerprint([0; 32]),
        pet: PetId(1),
        at: Timestamp(0),
    };
    let mut snapshot = MockSnapshot::new();
    snapshot.expect_counts().returning(move || read("counts").map(|()| StoreCounts::default()));
    snapshot.expect_pets().returning(move |_, _| read("pets").map(|()| Vec::new()));
    snapshot.expect_records().returning(move |after, _| match after {
        None => read("records").map(|()| vec![record]),
        Some(_) => read("first record").map(|()| Vec::new()),
    });
    Box::new(snapshot)
}

fn with_corrupt_key() -> StoredKeys {
    let corruption = Corruption::new("API key 1", "a rule");
    let corrupt = vec![CorruptKey { id: None, name: None, corruption }];
    StoredKeys { corrupt, ..vec![].into() }
}

#[tokio::test]
async fn each_finding_has_its_severity() {
    use Severity::{Error, Ok as Sound, Warning};
    for (what, store, keys, animals) in [
        ("no keys, no archive", with_keys(|| Ok(vec![].into())), Sound, Warning),
        ("unreadable keys", with_keys(|| Err(StoreError::unavailable("away"))), Error, Warning),
        ("a corrupt key", with_keys(|| Ok(with_corrupt_key())), Error, Warning),
        ("a sound archive", with_archive(|| Ok(snapshot(""))), Sound, Sound),
        ("no snapshot", with_archive(|| Err(StoreError::unavailable("away"))), Sound, Error),
        ("broken counts", with_archive(|| Ok(snapshot("counts"))), Sound, Error),
        ("broken animals", with_archive(|| Ok(snapshot("pets"))), Sound, Error),
        ("broken records", with_archive(|| Ok(snapshot("records"))), Sound, Error),
        ("a broken next record", with_archive(|| Ok(snapshot("first record"))), Sound, Error),
    ] {
        let found = read_rows(&store).await;
        let found: Vec<_> = found.iter().map(|it| (&*it.subject, it.severity)).collect();
        assert_eq!(found, [("API keys", keys), ("animals", animals)], "{what}");
    }
}

#[test]
fn a_fault_fails_the_check_and_a_warning_does_not() {
    let good = Finding::ok("schema", "version 5");
    let warning = Finding::warning("durability", "synchronous is 1");
    let fault = Finding::error("indexes", "missing\npet_sold");
    let mut out = Recorded::default();
    report(&[good.clone(), warning.clone()], "sqlite:a", &mut out).unwrap();
    assert_eq!(
        out.answers,
        "ok       schema      version 5\n\
         warning  durability  synchronous is 1\n\
         the store is sound, with 1 warning: sqlite:a\n"
    );
    let mut out = Recorded::default();
    let failure = report(&[good, warning, fault], "sqlite:a", &mut out).unwrap_err();
    assert_eq!(failure.to_string(), "1 fault was found in sqlite:a");
    assert!(out.answers.ends_with("FAULT    indexes     missing\\npet_sold\n"));
}
