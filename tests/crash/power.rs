//! The power is cut under load, on a real file system.

use std::{fs, path::Path, sync::Arc, time::Instant};

use petstore_testing::needs;

use super::{crashes, disk::Disk, write_until};
use crate::{
    load::journal::Journal,
    support::{
        server::Launch,
        store::{Store, is_sound},
    },
};

/// The number of additions before a power cut.
const LOAD: usize = 300;
/// The largest number of power cuts for the control. At least one of them must lose an animal.
const MOST_CONTROLS: usize = 10;

#[needs(ext4, time)]
#[test]
fn a_power_cut_loses_no_acknowledged_animal() {
    let Some(disk) = Disk::new_or_skip() else { return };
    let folder = disk.mount_point();
    let mut journal = Journal::new();
    for round in 0..crashes(3, 100) {
        let store = store(&folder, "");
        write_until_cut(&disk, &store, &journal);
        let server = Launch::on(&store).start();
        journal.is_settled_by("a power cut", &server.client());
        server.stop();
        is_sound(&folder.join("petstore.db"));
        if (round + 1) % 10 == 0 {
            // A new store, because the test reads all animals of a store after each power cut.
            journal = Journal::new();
            fs::remove_file(folder.join("petstore.db")).unwrap();
        }
    }
}

#[needs(ext4, time)]
#[test]
fn without_waiting_for_the_disk_a_power_cut_loses_animals() {
    let Some(disk) = Disk::new_or_skip() else { return };
    let file = disk.mount_point().join("petstore.db");
    for _ in 0..MOST_CONTROLS {
        let store = store(&disk.mount_point(), "?synchronous=normal");
        // The file is on the disk before the load starts, so only the load can be lost.
        Launch::on(&store).start().stop();
        let journal = Journal::new();
        write_until_cut(&disk, &store, &journal);
        let server = Launch::on(&store).start();
        let faults = journal.faults(&server.client());
        server.stop();
        is_sound(&file);
        if faults.iter().any(|fault| fault.contains("is lost")) {
            return;
        }
        // The load took so long that the kernel had written everything back.
        fs::remove_file(&file).unwrap();
    }
    panic!("{MOST_CONTROLS} power cuts have lost nothing");
}

fn store(folder: &Path, parameters: &str) -> Store {
    Store::at(&format!("sqlite:{}{parameters}", folder.join("petstore.db").display()))
}

fn write_until_cut(disk: &Disk, store: &Store, journal: &Arc<Journal>) {
    let mut server = Launch::on(store).start();
    // Unlike a machine without power, this one still answers, and Linux may report an interrupted synchronization as
    // complete. So acknowledgements after the cut do not count.
    let mut cut = Instant::now();
    write_until(&server.client(), journal, LOAD, || {
        cut = Instant::now();
        disk.cut();
    });
    journal.doubt_since(cut);
    server.kill();
    disk.restore();
}
