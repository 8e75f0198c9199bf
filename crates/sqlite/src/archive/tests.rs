//! Snapshots, rows that are written under their own identifiers, and the checks of a damaged file.

use std::time::{Duration, Instant};

use petstore_domain::{
    Archive, ArchiveError, CategoryId, NewPet, Pet, PetId, PetName, PetRepository, Rows,
    StoreError, WriterRole,
};
use petstore_storage::Severity;
use rusqlite::Connection;
use tempfile::TempDir;

use crate::{
    config::{SqliteConfig, Synchronous},
    open::open,
    store::{SqliteSettings, SqliteStore},
    tests::known_version,
};

struct Place {
    store: SqliteStore,
    folder: TempDir,
}

impl Place {
    fn new() -> Self {
        let folder = TempDir::new().unwrap();
        let path = folder.path().join("petstore.db");
        let config = SqliteConfig { path, synchronous: Synchronous::Normal };
        let short = Duration::from_millis(50);
        Self { store: open(&config, &SqliteSettings::default(), short).unwrap(), folder }
    }

    /// Writes animals. Returns the number of new animals.
    async fn write(&self, pets: Vec<Pet>) -> Result<u64, ArchiveError> {
        self.store.write_rows(WriterRole::Service, Rows { pets, ..Rows::default() }).await
    }

    fn raw(&self) -> Connection {
        Connection::open(self.folder.path().join("petstore.db")).unwrap()
    }
}

fn rex() -> NewPet {
    NewPet { name: PetName::parse("Rex").unwrap(), category_id: CategoryId(1), status: None }
}

fn numbered(ids: impl IntoIterator<Item = i64>) -> Vec<Pet> {
    ids.into_iter().map(|id| rex().with_id(PetId(id))).collect()
}

#[tokio::test]
async fn a_snapshot_outlives_its_store_and_sees_no_later_write() {
    let Place { store, folder } = Place::new();
    store.add(rex(), None).await.unwrap();
    let mut snapshot = store.snapshot().await.unwrap();
    for _ in 0..3 {
        store.add(rex(), None).await.unwrap();
    }
    drop(store);
    assert_eq!(snapshot.counts().await.unwrap().pets, 1);
    assert_eq!(snapshot.pets(None, 9).await.unwrap(), numbered([1]));
    drop(snapshot);
    assert!(folder.path().join("petstore.db").exists());
}

#[tokio::test]
async fn a_write_waits_for_another_writer_until_its_busy_timeout() {
    let place = Place::new();
    let other = place.raw();
    other.execute_batch("BEGIN IMMEDIATE").unwrap();
    let begun = Instant::now();
    assert!(place.write(numbered([5])).await.is_err());
    assert!(begun.elapsed() >= Duration::from_millis(50), "{:?}", begun.elapsed());
    other.execute_batch("ROLLBACK").unwrap();
    assert_eq!(place.write(numbered([5])).await.unwrap(), 1);
}

#[tokio::test]
async fn a_write_changes_the_version_at_once() {
    let place = Place::new();
    let before = known_version(&place.store).await;
    assert_eq!(place.write(numbered([2, 1, 2])).await.unwrap(), 2);
    assert_ne!(place.store.version(), Some(before));
    assert_ne!(known_version(&place.store).await, before);
}

#[tokio::test]
async fn no_animal_follows_the_last_identifier() {
    let place = Place::new();
    place.write(numbered([i64::MIN, 0, i64::MAX])).await.unwrap();
    let full = place.store.add_new(vec![rex()], None).await;
    assert!(matches!(full, Err(ArchiveError::Store(StoreError::Refused(_)))), "{full:?}");
}

#[tokio::test]
async fn every_identifier_is_read_once_in_batches_of_any_size() {
    let place = Place::new();
    let ids = [i64::MIN, -7, 0, 1, 2, i64::MAX - 1, i64::MAX];
    place.write(numbered(ids)).await.unwrap();
    for limit in 1..9 {
        let mut snapshot = place.store.snapshot().await.unwrap();
        let (mut found, mut last) = (Vec::new(), None);
        loop {
            let batch = snapshot.pets(last, limit).await.unwrap();
            let Some(end) = batch.last() else { break };
            last = Some(end.id);
            found.extend(batch);
        }
        assert_eq!(found, numbered(ids));
    }
}

#[tokio::test]
async fn the_error_for_corrupt_rows_names_them() {
    let place = Place::new();
    place.store.add(rex(), None).await.unwrap();
    let raw = place.raw();
    raw.execute_batch(
        "PRAGMA ignore_check_constraints = ON;
         UPDATE pet SET name = '' WHERE id = 1;
         INSERT INTO idempotency VALUES (1, x'00', zeroblob(32), 0);",
    )
    .unwrap();
    let mut snapshot = place.store.snapshot().await.unwrap();
    let Err(StoreError::Corrupt(pet)) = snapshot.pets(None, 9).await else { panic!() };
    assert_eq!(pet.what, "animal 1");
    let Err(StoreError::Corrupt(record)) = snapshot.records(None, 9).await else { panic!() };
    assert_eq!(record.what, "an idempotency record");
    assert!(record.rule.contains("Cannot read 16 byte value"), "{record}");

    let refusal = place.write(numbered([1])).await.unwrap_err();
    assert!(matches!(refusal, ArchiveError::Store(StoreError::Corrupt(_))), "{refusal}");
}

#[tokio::test]
async fn a_check_finds_a_row_missing_from_an_index() {
    let place = Place::new();
    // The row is added while the index has another definition.
    let rewrite = |from, to| {
        let sql = format!(
            "PRAGMA writable_schema = ON; \
             UPDATE sqlite_schema SET sql = replace(sql, '{from}', '{to}') WHERE name = 'pet_sold'"
        );
        place.raw().execute_batch(&sql).unwrap();
    };
    rewrite("''sold''", "''none''");
    let add = "INSERT INTO pet (name, category_id, status) VALUES ('Bello', 1, 'sold')";
    place.raw().execute(add, []).unwrap();
    rewrite("''none''", "''sold''");
    let findings = place.store.inspect().unwrap();
    let fault = "row 1 missing from index pet_sold; restore a backup";
    assert!(findings.iter().any(|finding| finding.detail == fault), "{findings:?}");
    let mut snapshot = place.store.snapshot().await.unwrap();
    let pets = snapshot.pets(None, 9).await.unwrap();
    assert_eq!(pets.iter().map(|pet| pet.name.as_str()).collect::<Vec<_>>(), ["Bello"]);
}

#[tokio::test]
async fn a_check_finds_a_damaged_page_and_reads_of_it_fail() {
    let place = Place::new();
    place.write(numbered(1..=5000)).await.unwrap();
    place.raw().query_row("PRAGMA wal_checkpoint(TRUNCATE)", [], |_| Ok(())).unwrap();
    let path = place.folder.path().join("petstore.db");
    // The last page belongs to the table of animals.
    let last = std::fs::metadata(&path).unwrap().len() / 4096 - 1;
    let overwrite = std::process::Command::new("dd")
        .args(["if=/dev/zero", "bs=4096", "count=1", "conv=notrunc", "status=none"])
        .args([format!("of={}", path.display()), format!("seek={last}")])
        .status();
    assert!(overwrite.unwrap().success());
    let findings = place.store.inspect().unwrap();
    assert_eq!(findings[0].severity, Severity::Error, "{findings:?}");
    // Taking a snapshot checks no page.
    let mut snapshot = place.store.snapshot().await.unwrap();
    assert_eq!(snapshot.pets(None, 9).await.unwrap(), numbered(1..=9));
    let refusal = snapshot.pets(None, 6000).await.unwrap_err();
    assert_eq!(refusal.to_string().lines().count(), 1, "{refusal}");
}
