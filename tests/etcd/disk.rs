//! The disk of one node is full.

use std::{
    fs::{self, File},
    io::Write as _,
    path::PathBuf,
    process::Command,
    time::Duration,
};

use petstore_testing::{Etcd, needs, or_skip_without};

use super::{NODES, trial::Trial};
use crate::{crash::disk::run, support::wait};

/// The size of the file system: etcd reserves two files of 64 MiB each for its log.
const SIZE: &str = "size=192M";
const LEFT: &str = "left"; // the file that fills the disk

/// A file system in memory, mounted on a folder.
struct Disk(PathBuf);

impl Disk {
    fn mount(folder: PathBuf) -> Result<Self, String> {
        fs::create_dir(&folder).map_err(|error| error.to_string())?;
        run(Command::new("mount").args(["-t", "tmpfs", "-o", SIZE, "tmpfs"]).arg(&folder))?;
        Ok(Self(folder))
    }

    /// Writes until no space is left.
    fn fill(&self) {
        let mut file = File::create(self.0.join(LEFT)).unwrap();
        while file.write_all(&[0; 4096]).is_ok() {}
    }

    fn free(&self) {
        fs::remove_file(self.0.join(LEFT)).unwrap();
    }
}

impl Drop for Disk {
    fn drop(&mut self) {
        // Lazy, as a process may still have a file open.
        let _ = run(Command::new("umount").arg("--lazy").arg(&self.0));
    }
}

/// Starts three nodes. The last node has a disk of its own, and is the leader. Returns `None` if this process cannot
/// mount file systems.
fn nodes() -> Option<(Etcd, Disk)> {
    let etcd = Etcd::prepare(NODES, None).unwrap();
    let last = NODES - 1;
    let disk = or_skip_without("root and mount", Disk::mount(etcd.data(last)))?;
    (0..NODES).for_each(|node| etcd.resume(node).unwrap());
    wait::until("the last node is the leader", || {
        let leader = etcd.wait_for_leader(None).unwrap();
        if leader != last {
            etcd.signal(leader, "STOP").unwrap();
            etcd.wait_for_leader(Some(leader)).unwrap();
            etcd.signal(leader, "CONT").unwrap();
        }
        leader == last
    });
    Some((etcd, disk))
}

/// A node of etcd ends when it cannot write.
#[needs(etcd, quiet)]
#[test]
fn the_other_nodes_continue_if_the_disk_of_the_leader_is_full() {
    let (what, last) = ("a full disk", NODES - 1);
    let Some((etcd, disk)) = nodes() else { return };
    let mut trial = Trial::start(&etcd);
    trial.happens(what, Duration::from_secs(6), || {
        disk.fill();
        wait::until("the node ends", || etcd.signal(last, "CONT").is_err());
    });
    etcd.kill(last);
    disk.free();
    trial.happens("the return of the node", Duration::from_secs(4), || etcd.resume(last).unwrap());
    trial.ends(what);
}
