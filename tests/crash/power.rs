//! The power is cut under load, on a real file system.

use std::{
    path::Path,
    sync::atomic::{AtomicBool, Ordering},
};

use petstore_testing::needs;
use serde_json::Value;

use super::{
    crashes,
    disk::Disk,
    load::{lost, retry, write_until},
};
use crate::support::{
    additions::{Addition, everything_is_there},
    server::{Launch, Server},
    store::{Store, is_sound},
};

/// The power is cut after so many additions.
const LOAD: usize = 300;

#[needs(ext4, time)]
#[test]
fn a_power_cut_loses_no_acknowledged_animal() {
    let Some(disk) = Disk::new_or_skip("a power cut") else { return };
    let folder = disk.mount_point();
    let mut additions = Vec::new();
    for round in 0..crashes(3, 100) {
        let store = store(&folder, "");
        additions.extend(write_until_cut(&disk, &store, round));
        let server = Launch::on(&store).start();
        everything_is_there(&server.client(), &additions);
        retry(&server.client(), &mut additions);
        everything_is_there(&server.client(), &additions);
        server.stop();
        is_sound(&folder.join("petstore.db"));
        if (round + 1) % 10 == 0 {
            // A new store now and then, or each look at all of it would take ever longer.
            additions.clear();
            std::fs::remove_file(folder.join("petstore.db")).unwrap();
        }
    }
}

#[needs(ext4, time)]
#[test]
fn without_waiting_for_the_disk_a_power_cut_loses_animals() {
    let Some(disk) = Disk::new_or_skip("a power cut without synchronisation") else { return };
    let store = store(&disk.mount_point(), "?synchronous=normal");
    // What is in the file before the load is on the disk: only the load can be lost.
    Launch::on(&store).start().stop();
    let additions = write_until_cut(&disk, &store, 0);
    let server = Launch::on(&store).start();
    assert_ne!(lost(&server.client(), &additions), 0);
    is_sound(&disk.mount_point().join("petstore.db"));
}

fn store(folder: &Path, parameters: &str) -> Store {
    Store::at(&format!("sqlite:{}{parameters}", folder.join("petstore.db").display()))
}

fn write_until_cut(disk: &Disk, store: &Store, round: usize) -> Vec<Addition> {
    let mut server: Server = Launch::on(store).start();
    let client = server.client();
    let name = format!("r{round}");
    // A machine without power answers nothing. This one does, and Linux may report a synchronisation as
    // done that the cut has interrupted. So what is acknowledged from then on does not count.
    let has_power = AtomicBool::new(true);
    let counts = |_: &Value| has_power.load(Ordering::SeqCst);
    let additions = write_until(&client, &name, LOAD, counts, || {
        has_power.store(false, Ordering::SeqCst);
        disk.cut();
    });
    server.kill();
    disk.restore();
    additions
}
