//! Machine failures at any point of the server's writes. A failure loses, reorders or tears writes that were not
//! synchronized.

use std::{
    collections::{BTreeMap, BTreeSet},
    path::Path,
};

use rusqlite::Connection;

use super::{
    crashes,
    history::History,
    image::{Image, Random},
    write_log::{Change, Record, WriteLog},
    write_until,
};
use crate::{
    load::journal::Journal,
    support::{catalogue::id_of, store::Store},
};

/// The number of additions, enough for SQLite to checkpoint its write-ahead log several times.
const LOAD: usize = 2_000;

/// The writes of a server and its acknowledged animals.
struct Run {
    records: Vec<Record>,
    /// For each animal identifier: the length of the write log at the acknowledgement, in bytes, and the animal's name.
    acknowledged: BTreeMap<i64, (usize, String)>,
}

impl Run {
    /// Runs a server on a new store whose URL ends with `parameters`, and kills the server after [`LOAD`] additions.
    fn new(parameters: &str) -> Self {
        let log = WriteLog::new();
        let mut store = Store::sqlite();
        store.url += parameters;
        let mut server = log.launch(&store).start();
        let journal = Journal::measuring(log.length());
        write_until(&server.client(), &journal, LOAD, || server.kill());
        let acknowledged = journal.entries().into_iter().filter(|entry| !entry.replayed);
        let acknowledged = acknowledged.filter_map(|entry| {
            let pet = entry.added?;
            Some((id_of(&pet), (entry.mark, pet["name"].as_str()?.to_owned())))
        });
        Self { records: log.records(&store), acknowledged: acknowledged.collect() }
    }

    /// Removes the effect of every synchronization.
    fn without_syncs(mut self) -> Self {
        for record in &mut self.records {
            if let Change::Sync { records } = &mut record.change {
                *records = 0;
            }
        }
        self
    }

    /// Simulates a machine failure at up to `points` random records of the write log. Returns the faults in the stores.
    fn fail_at(&self, points: usize) -> Vec<String> {
        let mut random = Random::new();
        let first = self.acknowledged.values().map(|(length, _)| *length).min().unwrap();
        let first = self.records.iter().position(|record| record.end > first).unwrap();
        let mut cuts: Vec<_> =
            (0..points).map(|_| first + random.below(self.records.len() - first)).collect();
        cuts.sort_unstable();
        let mut history = History::default();
        let mut records = self.records.iter().enumerate();
        let look = |cut| {
            let length = loop {
                let (number, record) = records.next().unwrap();
                history.push(record);
                if number == cut {
                    break record.end;
                }
            };
            self.faults(&Image::new(&history, &mut random), length)
                .map(|fault| format!("{cut}: {fault}"))
        };
        cuts.dedup();
        cuts.into_iter().filter_map(look).collect()
    }

    /// Returns the first fault in `image`; `None` if the store is correct. `length` is the length of the write log at
    /// the crash. An animal that was acknowledged later need not be there.
    fn faults(&self, image: &Image, length: usize) -> Option<String> {
        let folder = tempfile::tempdir().unwrap();
        image.write_to(folder.path());
        let stored = match stored(&folder.path().join("petstore.db")) {
            Ok(stored) => stored,
            Err(fault) => return Some(fault.to_string()),
        };
        let names: BTreeSet<_> = stored.values().collect();
        if names.len() != stored.len() {
            return Some("an animal was added twice".to_owned());
        }
        let mut acknowledged = self.acknowledged.iter().filter(|(_, (then, _))| *then <= length);
        let lost = acknowledged.find(|(id, (_, name))| stored.get(id) != Some(name));
        lost.map(|(id, _)| format!("the acknowledged animal {id} is gone"))
    }
}

/// Returns the name of each animal in a store file, by identifier.
///
/// # Errors
/// SQLite finds a fault in the file, or an idempotency record has no animal.
fn stored(file: &Path) -> Result<BTreeMap<i64, String>, Box<dyn std::error::Error>> {
    let connection = Connection::open(file)?;
    let found: String = connection.query_row("PRAGMA integrity_check", [], |row| row.get(0))?;
    if found != "ok" {
        return Err(found.into());
    }
    let orphans = "SELECT count(*) FROM idempotency WHERE pet_id NOT IN (SELECT id FROM pet)";
    let orphans: i64 = connection.query_row(orphans, [], |row| row.get(0))?;
    if orphans != 0 {
        return Err(format!("{orphans} idempotency records have no animal").into());
    }
    let mut rows = connection.prepare("SELECT id, name FROM pet")?;
    let rows = rows.query_map([], |row| Ok((row.get(0)?, row.get(1)?)))?;
    Ok(rows.collect::<Result<_, _>>()?)
}

#[petstore_testing::needs(time)]
#[test]
fn no_acknowledged_animal_is_lost_wherever_the_machine_fails() {
    let run = Run::new("");
    let faults = run.fail_at(crashes(200, 2_000));
    assert!(faults.is_empty(), "{faults:#?}");
    // The control: the same writes without synchronization.
    assert!(!run.without_syncs().fail_at(20).is_empty());
}

#[petstore_testing::needs(time)]
#[test]
fn without_waiting_for_the_disk_a_failure_loses_animals() {
    let faults = Run::new("?synchronous=normal").fail_at(50);
    assert!(faults.iter().any(|fault| fault.contains("is gone")), "{faults:?}");
}
