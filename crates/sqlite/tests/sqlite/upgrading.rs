//! Stores of an older schema.

use std::fs;

use petstore_domain::{Pet, PetId, PetStatus};
use petstore_sqlite::SqliteStore;
use rusqlite::{Connection, Statement};

use crate::support::{Place, SCHEMA, add, all, new_pet, page, query};

const SCHEMA_1: &str = include_str!("../../migrations/0001_catalogue.sql");
const TO_SCHEMA_2: &str = include_str!("../../migrations/0002_covering_status_index.sql");

/// Enough for an index of several pages of the file.
const ANIMALS: usize = 1000;

/// Animals of every status, and of none, in turns.
fn animals() -> Vec<Pet> {
    let statuses = PetStatus::ALL.map(Some).into_iter().chain([None]).cycle();
    let numbered = (1..).zip(statuses).take(ANIMALS);
    numbered
        .map(|(id, status)| new_pet(&format!("Rex {id}"), -id, status).with_id(PetId(id)))
        .collect()
}

/// Makes a store of schema 1 with [`animals`], as the binary that wrote that schema left it.
fn make_schema_1(place: &Place) {
    let raw = place.raw();
    raw.execute_batch("PRAGMA journal_mode = WAL").unwrap();
    raw.execute_batch(&format!(
        "BEGIN; {SCHEMA_1}; PRAGMA application_id = {}; PRAGMA user_version = 1; COMMIT",
        i32::from_be_bytes(*b"pst0")
    ))
    .unwrap();
    raw.execute_batch("BEGIN").unwrap();
    for Pet { id, name, category_id, status } in animals() {
        let status = status.map(PetStatus::as_str);
        let values = (id.0, name.as_str(), category_id.0, status);
        raw.execute("INSERT INTO pet VALUES (?1, ?2, ?3, ?4)", values).unwrap();
    }
    raw.execute_batch("COMMIT").unwrap();
}

fn schema(connection: &Connection) -> u32 {
    connection.pragma_query_value(None, "user_version", |row| row.get(0)).unwrap()
}

/// The store has every animal, and finds it by each way that there is.
async fn assert_whole(store: &SqliteStore) {
    let animals = animals();
    assert_eq!(all(store).await, animals);
    for status in PetStatus::ALL {
        let of_status = animals.iter().filter(|pet| pet.status == Some(status));
        let of_status: Vec<Pet> = of_status.cloned().collect();
        let mut listed = Vec::new();
        while listed.len() < of_status.len() {
            let after = listed.last().map(|pet: &Pet| pet.id.0);
            let page = page(store, query(7, Some(status), after)).await;
            listed.extend(page.pets);
            assert_eq!(page.more, listed.len() < of_status.len());
        }
        assert_eq!(listed, of_status);
    }
}

#[tokio::test]
async fn a_store_of_schema_1_is_brought_to_the_newest_and_keeps_its_animals_and_its_mark() {
    let place = Place::new();
    make_schema_1(&place);
    let mark = |raw: &Connection| -> Vec<u8> {
        raw.query_row("SELECT version FROM catalogue", [], |row| row.get(0)).unwrap()
    };
    let before = mark(&place.raw());

    let store = place.open();
    assert_whole(&store).await;
    let raw = place.raw();
    assert_eq!(schema(&raw), SCHEMA);
    assert_eq!(mark(&raw), before, "no animal has changed");
    let found: String = raw.query_row("PRAGMA integrity_check", [], |row| row.get(0)).unwrap();
    assert_eq!(found, "ok", "of the index, too");
    let header = fs::read(place.path()).unwrap();
    assert_eq!(header[60..64], SCHEMA.to_be_bytes(), "the schema's number is in the file itself");

    let next = i64::try_from(ANIMALS).unwrap() + 1;
    assert_eq!(add(&store, new_pet("Bello", 1, None)).await.id, PetId(next));
    drop(store);
    assert_eq!(all(&place.open()).await.len(), ANIMALS + 1);
}

#[tokio::test]
async fn identifiers_that_were_assigned_before_an_upgrade_are_not_assigned_again() {
    let place = Place::new();
    make_schema_1(&place);
    place.raw().execute("DELETE FROM pet WHERE id > 10", []).unwrap();
    let next = i64::try_from(ANIMALS).unwrap() + 1;
    assert_eq!(add(&place.open(), new_pet("Bello", 1, None)).await.id, PetId(next));
}

#[test]
fn a_store_that_was_upgraded_has_the_tables_and_indexes_of_a_new_one() {
    let (upgraded, new) = (Place::new(), Place::new());
    make_schema_1(&upgraded);
    let objects = [upgraded, new].map(|place| {
        drop(place.open());
        let raw = place.raw();
        let mut statement = raw.prepare("SELECT sql FROM sqlite_schema ORDER BY name").unwrap();
        let rows = statement.query_map([], |row| row.get::<_, Option<String>>(0)).unwrap();
        rows.map(Result::unwrap).collect::<Vec<_>>()
    });
    assert_eq!(objects[0], objects[1]);
}

#[tokio::test]
async fn an_old_store_can_be_opened_by_many_at_once() {
    let place = Place::new();
    make_schema_1(&place);
    for store in place.open_by_four_at_once() {
        assert_whole(&store).await;
    }
    assert_eq!(schema(&place.raw()), SCHEMA);
}

#[tokio::test]
async fn an_upgrade_that_is_cut_off_leaves_the_old_store() {
    let place = Place::new();
    make_schema_1(&place);
    let upgrading = place.raw();
    // With next to no cache, pages go to the write-ahead log before the commit.
    upgrading.pragma_update(None, "cache_size", 1).unwrap();
    upgrading
        .execute_batch(&format!("BEGIN IMMEDIATE; {TO_SCHEMA_2}; PRAGMA user_version = 2"))
        .unwrap();
    // What the disk holds now is what a crash would leave.
    let crashed = Place::new();
    for (path, bytes) in place.content() {
        let name = path.file_name().unwrap();
        assert!(name != "petstore.db-wal" || bytes.len() > 4096, "nothing was written yet");
        fs::write(crashed.directory().join(name), bytes).unwrap();
    }
    assert_eq!(schema(&crashed.raw()), 1);
    assert_whole(&crashed.open()).await;
    assert_eq!(schema(&crashed.raw()), SCHEMA);
}

#[tokio::test]
async fn a_process_of_the_older_version_that_is_running_goes_on_but_for_lists_by_status() {
    let place = Place::new();
    make_schema_1(&place);
    // Its statements are prepared before the upgrade.
    let old = place.raw();
    let mut adding = old.prepare("INSERT INTO pet VALUES (?1, 'Bello', 1, 'sold')").unwrap();
    let assigning = "INSERT INTO pet (name, category_id, status) VALUES ('Bello', 1, 'sold')";
    let mut assigning = old.prepare(assigning).unwrap();
    let newest = "SELECT id FROM pet WHERE id > 0 ORDER BY id DESC LIMIT 1";
    let of_status = newest.replace("WHERE", "INDEXED BY pet_by_status WHERE status = 'sold' AND");
    let [mut newest, mut of_status] = [newest, &of_status].map(|sql| old.prepare(sql).unwrap());
    let first = |listing: &mut Statement<'_>| listing.query_row([], |row| row.get::<_, i64>(0));
    adding.execute([5000]).unwrap();
    assert_eq!((first(&mut newest), first(&mut of_status)), (Ok(5000), Ok(5000)));
    let store = place.open();
    assert_eq!(first(&mut newest), Ok(5000));
    let refusal = first(&mut of_status).unwrap_err().to_string();
    assert!(refusal.starts_with("no such index"), "{refusal}");
    adding.execute([5001]).unwrap();
    assert_eq!(first(&mut newest), Ok(5001));
    let bello = |id| new_pet("Bello", 1, Some(PetStatus::Sold)).with_id(PetId(id));
    let pets = page(&store, query(20, Some(PetStatus::Sold), Some(5000))).await.pets;
    assert_eq!(pets, [bello(5001)]);
    // Both assign identifiers.
    for id in [5002, 5004] {
        assert_eq!(assigning.insert([]).unwrap(), id);
        assert_eq!(add(&store, new_pet("Bello", 1, None)).await.id, PetId(id + 1));
    }
}
