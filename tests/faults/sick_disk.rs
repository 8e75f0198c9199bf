//! Disks that fail writes. The service refuses writes and answers reads, and recovers with the disk without a restart.

use std::{fs, io, path::Path, sync::Arc, time::Instant};

use petstore_testing::needs;

use crate::{
    crash::disk::Disk as Ext4,
    load::{
        Load, Outages,
        journal::{Entry, Journal, Kind as Asked},
    },
    support::{
        catalogue::{add, everything, pet},
        command::prlimit,
        disk::{BROKEN_SYNCS, BROKEN_WRITES, Disk, FULL, Fault, READ_ONLY},
        server::{Launch, Server},
        store::{Store, is_sound},
    },
};

const WRITERS: usize = 4;
const READERS: usize = 2;
/// The number of writes before and after a fault, and of reads during and after the fault.
const ENOUGH: usize = 30;
/// The number of refused writes during a fault: about one of each writer. More would take long, because a write waits
/// for seconds before its refusal if another process holds the lock.
const REFUSALS: usize = WRITERS;

/// Asserts the promises at the top of this file for a fault from `begin` to `end`. The log must contain `cause`.
#[track_caller]
fn is_survived(
    store: &Store,
    launch: Launch,
    cause: &str,
    begin: impl FnOnce(&Server),
    end: impl FnOnce(&Server),
) {
    let server = launch.start();
    let journal = under(&server, begin, end);
    let log = server.log();
    assert!(log.lines().any(|line| line.contains(cause)), "{cause}: {log}");
    server.stop();
    let server = Launch::on(store).start();
    journal.is_settled_by(cause, &server.client());
    server.stop();
    is_sound(Path::new(store.url.strip_prefix("sqlite:").unwrap()));
}

/// Sends requests before, during and after a fault. Every read must succeed.
fn under(server: &Server, begin: impl FnOnce(&Server), end: impl FnOnce(&Server)) -> Arc<Journal> {
    let (client, journal) = (server.client(), Journal::new());
    let mut writers = Load::on(&client, &journal, Outages::Refuse).writers(WRITERS, None);
    let mut readers = Load::on(&client, &journal, Outages::Never).readers(READERS);
    writers.works(Instant::now(), &[Asked::Add], ENOUGH);
    begin(server);
    let faulty = Instant::now();
    writers.until("writes are refused", faulty, REFUSALS, |entry: &Entry| entry.status == 503);
    readers.works(faulty, &[Asked::Read], ENOUGH);
    client.get("/livez").send().is(200);
    client.get("/readyz").send().is(200);
    end(server);
    let mended = Instant::now();
    writers.works(mended, &[Asked::Add], ENOUGH);
    readers.works(mended, &[Asked::Read], ENOUGH);
    writers.stop();
    readers.stop();
    journal
}

/// Asserts the promises at the top of this file for a fault that the preloaded library causes.
fn fault_is_survived(fault: Fault, cause: &str) {
    let disk = Disk::new();
    let store = Store::sqlite();
    let launch = Launch::on(&store).disk(&disk);
    is_survived(&store, launch, cause, |_| disk.fail(fault), |_| disk.mend(fault));
}

#[test]
fn a_full_disk_refuses_writes_until_there_is_space() {
    fault_is_survived(FULL, "database or disk is full");
}

#[test]
fn writes_are_refused_while_the_disk_fails_writes() {
    fault_is_survived(BROKEN_WRITES, "disk I/O error");
}

#[test]
fn no_write_is_acknowledged_while_the_disk_fails_to_synchronize() {
    fault_is_survived(BROKEN_SYNCS, "disk I/O error");
}

#[test]
fn writes_are_refused_while_the_disk_is_read_only() {
    fault_is_survived(READ_ONLY, "attempt to write a readonly database");
}

/// The file system itself refuses writes, and completes some of them only in part.
#[needs(ext4)]
#[test]
fn writes_are_refused_while_the_file_system_is_full() {
    let Some(disk) = Ext4::new_or_skip() else { return };
    let folder = disk.mount_point();
    let store = Store::at(&format!("sqlite:{}", folder.join("petstore.db").display()));
    let filler = folder.join("filler");
    let fill = |_: &Server| {
        // The copy ends when no space is left.
        let _ = io::copy(&mut io::repeat(1), &mut fs::File::create(&filler).unwrap());
    };
    let cause = "database or disk is full";
    let free = |_: &Server| fs::remove_file(&filler).unwrap();
    is_survived(&store, Launch::on(&store), cause, fill, free);
}

/// The kernel drops pages that it could not write, and later synchronizations succeed. SQLite's cache would still have
/// these pages, and later writes would rely on them.
#[test]
fn after_a_failed_synchronization_the_writer_opens_another_connection() {
    let disk = Disk::new();
    let store = Store::sqlite();
    let server = Launch::on(&store).disk(&disk).start();
    let client = server.client();
    let before = [add(&client, &pet("one")), add(&client, &pet("two"))];
    let opens = disk.opens();
    add(&client, &pet("three"));
    assert_eq!(disk.opens(), opens, "the write has opened a file");

    disk.fail(BROKEN_SYNCS);
    client.add(&pet("refused")).send().refuses(503, "unavailable");
    disk.mend(BROKEN_SYNCS);
    let after = add(&client, &pet("after"));
    assert!(disk.opens() > opens, "the writer goes on with the connection that failed");
    let opens = disk.opens();
    add(&client, &pet("and on"));
    assert_eq!(disk.opens(), opens, "the writer has opened the store once more");
    let all = everything(&client);
    assert!(all.starts_with(&before) && all.contains(&after), "{all:?}");
}

#[test]
fn a_limit_on_the_size_of_files_refuses_writes_and_kills_nothing() {
    let store = Store::sqlite();
    let limit = |server: &Server, limit: &str| prlimit(server.pid(), &format!("--fsize={limit}:"));
    let begin = |server: &Server| limit(server, "4096");
    let end = |server: &Server| limit(server, "unlimited");
    is_survived(&store, Launch::on(&store), "disk I/O error", begin, end);
}
