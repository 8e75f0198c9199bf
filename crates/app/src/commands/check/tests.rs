use std::sync::Arc;

use petstore_domain::{
    Archive, CategoryId, CorruptKey, Corruption, Fingerprint, IdempotencyId, IdempotencyRecord,
    MockArchive, MockKeyStore, MockPetRepository, MockSnapshot, NewPet, Pet, PetId, PetName,
    PetPage, PetStatus, Rows, Snapshot, StoreCounts, StoreError, StoredKeys, Timestamp, Versioned,
    WriterRole,
};
use petstore_storage::{Finding, Severity};

use petstore_memory::MemoryStore;

use super::{keys, read_archive, read_rows, report};
use crate::{stores::OpenStore, system::Recorded};

#[tokio::test]
async fn every_batch_of_records_is_read() {
    let record = |id| IdempotencyRecord {
        id: IdempotencyId([id; 16]),
        fingerprint: Fingerprint([0; 32]),
        pet: PetId(1),
        at: Timestamp(0),
    };
    let corrupt = || StoreError::from(Corruption::new("an idempotency record", "a rule"));
    let mut snapshot = MockSnapshot::new();
    snapshot.expect_counts().returning(|| Ok(StoreCounts::default()));
    snapshot.expect_pets().returning(|_, _| Ok(Vec::new()));
    snapshot.expect_records().returning(move |after, _| match after {
        None => Ok(vec![record(1)]),
        Some(_) => Err(corrupt()),
    });
    let mut archive = MockArchive::new();
    archive.expect_snapshot().return_once(|| Ok(Box::new(snapshot)));
    let pets = MockPetRepository::new();
    let read = read_archive(&archive, &pets).await;
    assert!(matches!(read, Err(StoreError::Corrupt(_))), "{read:?}");
}

/// Returns an animal whose status depends on its identifier: none, sold, pending.
fn pet(id: i64) -> Pet {
    let statuses = [None, Some(PetStatus::Sold), Some(PetStatus::Pending)];
    let status = statuses[usize::try_from(id % 3).unwrap()];
    let name = PetName::parse("Rex").unwrap();
    NewPet { name, category_id: CategoryId(1), status }.with_id(PetId(id))
}

fn answer<T>(value: T) -> Versioned<T> {
    Versioned { value, version: None }
}

/// Returns a repository of the animals 1 to 999. Its lists lack the `lost` animals, but `find` returns them.
fn lists_without(lost: fn(i64) -> bool) -> MockPetRepository {
    let mut pets = MockPetRepository::new();
    pets.expect_find().returning(|id| Ok(answer(Some(pet(id.0)))));
    pets.expect_list().returning(move |query| {
        let mut listed = (1..=999)
            .filter(|id| !lost(*id))
            .map(pet)
            .filter(|pet| pet.status == query.status && Some(pet.id) > query.after);
        let pets = listed.by_ref().take(query.limit.get().into()).collect();
        Ok(answer(PetPage { pets, more: listed.next().is_some() }))
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
    let store = filled().await;
    let sound = read_archive(&store, &lists_without(|_| false)).await.unwrap();
    assert_eq!(sound.severity, Severity::Ok);
    assert!(sound.detail.starts_with("999 read, "), "{}", sound.detail);

    // The lists lack the sold animals from 940 on, and one pending animal.
    let lists = lists_without(|id| id == 998 || id >= 940 && id % 3 == 1);
    let finding = read_archive(&store, &lists).await.unwrap();
    assert_eq!(finding.severity, Severity::Error);
    assert!(finding.detail.contains("; 9"), "{}", finding.detail);
    assert!(finding.detail.contains(" is not in the list of "), "{}", finding.detail);
}

#[tokio::test]
async fn an_animal_changed_or_deleted_since_the_snapshot_is_no_fault() {
    let store = filled().await;
    // Meanwhile, the sold animals with even identifiers have become pending, and the other sold animals were deleted.
    let now = |id| match pet(id) {
        sold if sold.status == Some(PetStatus::Sold) => {
            (id % 2 == 0).then_some(Pet { status: Some(PetStatus::Pending), ..sold })
        }
        other => Some(other),
    };
    let mut pets = MockPetRepository::new();
    pets.expect_find().returning(move |id| Ok(answer(now(id.0))));
    pets.expect_list().returning(move |query| {
        let of_status = |pet: &Pet| pet.status == query.status && Some(pet.id) > query.after;
        let mut listed = (1..=999).filter_map(now).filter(of_status);
        let pets = listed.by_ref().take(query.limit.get().into()).collect();
        Ok(answer(PetPage { pets, more: listed.next().is_some() }))
    });
    let finding = read_archive(&store, &pets).await.unwrap();
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

/// Returns a snapshot that fails to read the `broken` rows: `counts`, `pets`, `records` or none (`""`).
fn snapshot(broken: &str) -> Box<dyn Snapshot> {
    fn read<T: Default>(is_broken: bool) -> Result<T, StoreError> {
        if is_broken { Err(Corruption::new("a row", "a rule").into()) } else { Ok(T::default()) }
    }
    let mut snapshot = MockSnapshot::new();
    let [counts, pets, records] = ["counts", "pets", "records"].map(|rows| rows == broken);
    snapshot.expect_counts().returning(move || read(counts));
    snapshot.expect_pets().returning(move |_, _| read(pets));
    snapshot.expect_records().returning(move |_, _| read(records));
    Box::new(snapshot)
}

#[tokio::test]
async fn each_finding_has_its_severity() {
    let no_keys = || Ok(vec![].into());
    let table = [
        ("no keys, no archive", with_keys(no_keys), Severity::Ok, Severity::Warning),
        (
            "keys that cannot be read",
            with_keys(|| Err(StoreError::unavailable("it is away"))),
            Severity::Error,
            Severity::Warning,
        ),
        (
            "a corrupt key",
            with_keys(|| {
                let key = Corruption::new("API key 1", "a rule");
                let corrupt = vec![CorruptKey { id: None, name: None, corruption: key }];
                Ok(StoredKeys { corrupt, ..vec![].into() })
            }),
            Severity::Error,
            Severity::Warning,
        ),
        ("a sound archive", with_archive(|| Ok(snapshot(""))), Severity::Ok, Severity::Ok),
        (
            "no snapshot",
            with_archive(|| Err(StoreError::unavailable("it is away"))),
            Severity::Ok,
            Severity::Error,
        ),
        ("broken counts", with_archive(|| Ok(snapshot("counts"))), Severity::Ok, Severity::Error),
        ("broken animals", with_archive(|| Ok(snapshot("pets"))), Severity::Ok, Severity::Error),
        ("broken records", with_archive(|| Ok(snapshot("records"))), Severity::Ok, Severity::Error),
    ];
    for (what, store, keys, animals) in table {
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

#[test]
fn each_corrupt_key_is_named_up_to_a_limit() {
    let corrupt = (1..=12).map(|id| Corruption::new(format_args!("API key {id}"), "a rule"));
    let corrupt =
        corrupt.map(|corruption| CorruptKey { id: None, name: None, corruption }).collect();
    let finding = keys(&StoredKeys { corrupt, ..vec![].into() });
    assert_eq!(finding.severity, Severity::Error);
    assert!(finding.detail.contains("API key 10") && !finding.detail.contains("API key 11"));
    assert!(finding.detail.contains("and 2 more"), "{}", finding.detail);
}
