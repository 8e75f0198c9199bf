//! Connections that take turns on one file; `stores` has whole stores.

mod stores;

use std::collections::HashMap;

use petstore_domain::{
    Fingerprint, IdempotencyId, IdempotencyRecord, PetId, StoreError, Timestamp,
};
use rusqlite::Connection;
use tempfile::TempDir;

use super::{MISSING, RecentRecords, UNINDEXED, first_id, last_id, shares};
use crate::{
    config::{SqliteConfig, Synchronous},
    error::Failure,
    pets::idempotency,
    store::SqliteStore,
};

#[test]
fn each_share_is_due_once_in_as_many_rows_as_there_are_shares() {
    for (after, last, due) in [
        (0, 1, [Some((1, 1)), None]),
        (0, UNINDEXED - 1, [Some((1, 16_383)), None]),
        (0, UNINDEXED, [Some((0, 16_383)), None]),
        (-UNINDEXED, 5, [Some((0, 16_383)), None]),
        (UNINDEXED - 2, UNINDEXED + 1, [Some((16_383, 16_383)), Some((0, 1))]),
        (5 * UNINDEXED - 1, 5 * UNINDEXED, [Some((0, 0)), None]),
    ] {
        assert_eq!(shares(after, last), due, "{after} {last}");
    }
}

#[test]
fn each_id_is_in_one_share() {
    assert_eq!((first_id(0), last_id(16_383)), (0, u128::MAX));
    for share in 1..=16_383 {
        assert_eq!(last_id(share - 1) + 1, first_id(share), "{share}");
    }
}

/// A row of numbers that look random.
struct Numbers(u64);

impl Numbers {
    fn next(&mut self) -> u64 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        self.0
    }

    fn below(&mut self, limit: u64) -> u64 {
        self.next() % limit
    }

    fn id(&mut self) -> IdempotencyId {
        let (head, rest) = (self.next(), self.next());
        IdempotencyId(((u128::from(head) << 64) | u128::from(rest)).to_be_bytes())
    }
}

struct Place(TempDir);

impl Place {
    fn new() -> Self {
        let place = Self(TempDir::new().unwrap());
        place.store();
        place
    }

    fn store(&self) -> SqliteStore {
        let path = self.0.path().join("petstore.db");
        SqliteStore::open(&SqliteConfig { path, synchronous: Synchronous::Normal }).unwrap()
    }

    fn raw(&self) -> Connection {
        let connection = Connection::open(self.0.path().join("petstore.db")).unwrap();
        connection.pragma_update(None, "synchronous", "OFF").unwrap();
        connection
    }
}

fn missing(connection: &Connection) -> Option<i64> {
    connection.query_row(MISSING, [UNINDEXED], |row| row.get(0)).ok()
}

/// One of the connections that write to a file.
struct Process {
    connection: Connection,
    recent: RecentRecords,
}

impl Process {
    fn new(place: &Place) -> Self {
        Self { connection: place.raw(), recent: RecentRecords::default() }
    }

    fn transaction(&mut self, commits: bool, work: impl FnOnce(&Connection, &mut RecentRecords)) {
        self.connection.execute_batch("BEGIN IMMEDIATE").unwrap();
        work(&self.connection, &mut self.recent);
        let last = self.recent.index(&self.connection).unwrap();
        if commits {
            self.connection.execute_batch("COMMIT").unwrap();
            self.recent.committed(last);
        } else {
            self.connection.execute_batch("ROLLBACK").unwrap();
            self.recent = RecentRecords::default();
        }
    }
}

fn find(
    connection: &Connection,
    recent: &mut RecentRecords,
    id: IdempotencyId,
) -> Option<IdempotencyRecord> {
    let found: Result<_, Failure<StoreError>> = idempotency::find(connection, recent, id);
    found.unwrap_or_else(|_| panic!("{id}"))
}

/// What the file should hold, and how to change it.
struct Model {
    numbers: Numbers,
    clock: i64,
    records: HashMap<IdempotencyId, IdempotencyRecord>,
    /// Every id that was ever tried.
    ids: Vec<IdempotencyId>,
}

impl Model {
    /// Writes `count` records, some of which have ids of others.
    fn write(&mut self, connection: &Connection, recent: &mut RecentRecords, count: u64) {
        for row in 0..count {
            self.clock += 1;
            let one_of_all = self.numbers.below(1 + self.ids.len() as u64);
            let id = match self.ids.get(usize::try_from(one_of_all).unwrap()) {
                Some(id) if row % 50 == 49 => *id,
                _ => self.numbers.id(),
            };
            let stored = find(connection, recent, id);
            assert_eq!(stored.as_ref(), self.records.get(&id), "{id}");
            let record = record(id, self.clock);
            idempotency::write(connection, recent, stored.as_ref(), &record).unwrap();
            self.records.insert(id, record);
            self.ids.push(id);
        }
    }

    fn purge(&mut self, connection: &Connection, recent: &mut RecentRecords) {
        let cutoff = Timestamp(self.clock - 30_000);
        let purged = idempotency::purge(connection, recent, cutoff, u32::MAX).unwrap();
        let before = self.records.len();
        self.records.retain(|_, record| record.at > cutoff);
        assert_eq!(before - self.records.len(), usize::try_from(purged).unwrap());
    }
}

/// Processes write, replace and purge in turns. Transactions are rolled back, and processes start anew.
/// Each finds all that was committed, and nothing else.
fn take_turns(count: u64, start_anew: bool) {
    let place = Place::new();
    let mut processes: Vec<_> = (0..count).map(|_| Process::new(&place)).collect();
    let (numbers, records) = (Numbers(88_172_645_463_325_252), HashMap::new());
    let mut model = Model { numbers, clock: 0, records, ids: Vec::new() };
    for turn in 0..300 {
        let process = &mut processes[usize::try_from(model.numbers.below(count)).unwrap()];
        let commits = model.numbers.below(8) > 0;
        let before = model.records.clone();
        process.transaction(commits, |connection, recent| {
            // Now and then one transaction writes more rows than may lack an entry.
            let count = if turn % 140 == 10 { 20_000 } else { 1 + model.numbers.below(200) };
            model.write(connection, recent, count);
            if turn % 20 == 19 {
                model.purge(connection, recent);
            }
        });
        if !commits {
            model.records = before;
        }
        if start_anew && model.numbers.below(10) == 0 {
            *process = Process::new(&place);
        }
        if turn % 20 == 0 {
            assert_eq!(missing(&place.raw()), None, "turn {turn}");
        }
    }
    for process in &mut processes {
        process.transaction(true, |connection, recent| {
            for id in &model.ids {
                assert_eq!(find(connection, recent, *id).as_ref(), model.records.get(id), "{id}");
            }
        });
        let count = process.recent.rows.len();
        assert!(count <= 1 << 14, "{count} are kept in memory");
    }
    let mut sorted: Vec<_> = model.records.into_values().collect();
    sorted.sort_by_key(|record| record.id.0);
    assert_eq!(in_order(&place.raw()), sorted);
}

#[petstore_testing::needs(time)]
#[tokio::test]
async fn a_process_finds_every_record_whenever_its_entry_is_written() {
    take_turns(1, false);
}

#[petstore_testing::needs(time)]
#[tokio::test]
async fn processes_find_every_record_whoever_wrote_it() {
    take_turns(2, true);
}

/// What a snapshot reads, in batches.
fn in_order(connection: &Connection) -> Vec<IdempotencyRecord> {
    let mut read = Vec::<IdempotencyRecord>::new();
    loop {
        let last = read.last().map(|record| record.id);
        let batch = idempotency::after(connection, last, 4_000);
        let batch = batch.unwrap_or_else(|_| panic!("the batch after {last:?}"));
        if batch.is_empty() {
            return read;
        }
        read.extend(batch);
    }
}

/// Writes this many records with the time `at`.
fn fill(process: &mut Process, numbers: &mut Numbers, at: i64, count: i64) {
    process.transaction(true, |connection, recent| {
        for _ in 0..count {
            let record = record(numbers.id(), at);
            idempotency::write(connection, recent, None, &record).unwrap();
        }
    });
    assert_eq!(missing(&process.connection), None);
}

fn assert_nothing_is_left(process: &Process) {
    for table in ["idempotency", "idempotency_index"] {
        let count = format!("SELECT count(*) FROM {table}");
        let count = process.connection.query_row(&count, [], |row| row.get::<_, i64>(0));
        assert_eq!(count, Ok(0), "{table}");
    }
}

#[tokio::test]
async fn a_purge_leaves_no_entry_behind() {
    let place = Place::new();
    let (mut process, mut numbers) = (Process::new(&place), Numbers(1));
    for at in 0..3 {
        fill(&mut process, &mut numbers, at, UNINDEXED / 2);
    }
    process.transaction(true, |connection, recent| {
        idempotency::purge(connection, recent, Timestamp(2), u32::MAX).unwrap();
    });
    assert_nothing_is_left(&process);
    assert_eq!(process.recent.rows.len(), 0);
}

#[tokio::test]
async fn what_was_rolled_back_gets_no_entry() {
    let place = Place::new();
    let (mut process, mut numbers) = (Process::new(&place), Numbers(1));
    process.transaction(false, |connection, recent| {
        idempotency::write(connection, recent, None, &record(numbers.id(), 1)).unwrap();
    });
    fill(&mut process, &mut numbers, 1, UNINDEXED);
    process.transaction(true, |connection, recent| {
        idempotency::purge(connection, recent, Timestamp(1), u32::MAX).unwrap();
    });
    assert_nothing_is_left(&process);
}

#[tokio::test]
async fn what_another_process_has_purged_gets_no_entry() {
    let place = Place::new();
    let (mut process, mut numbers) = (Process::new(&place), Numbers(1));
    fill(&mut process, &mut numbers, 1, UNINDEXED / 2);
    let mut other = Process::new(&place);
    other.transaction(true, |connection, recent| {
        idempotency::purge(connection, recent, Timestamp(1), u32::MAX).unwrap();
    });
    fill(&mut process, &mut numbers, 2, UNINDEXED);
    process.transaction(true, |connection, recent| {
        idempotency::purge(connection, recent, Timestamp(2), u32::MAX).unwrap();
    });
    assert_nothing_is_left(&process);
}

fn record(id: IdempotencyId, at: i64) -> IdempotencyRecord {
    IdempotencyRecord { id, fingerprint: Fingerprint([7; 32]), pet: PetId(at), at: Timestamp(at) }
}
