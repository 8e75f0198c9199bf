//! Copies to a cluster of etcd and back, whose leader is killed meanwhile.

use std::{process::Child, thread, time::Duration};

use petstore_testing::{Etcd, needs};

use super::populated::populate;
use crate::{
    etcd::{nodes, store},
    moving::commands::{make, run, verify},
    support::{command::petstore, store::Store, wait},
};

const PETS: usize = 20_000;
/// After so long what has begun is under way.
const MOMENT: Duration = Duration::from_millis(300);

/// Kills the leader beside a command, waits for its end, and lets the node come back.
#[track_caller]
fn kill_beside(etcd: &Etcd, command: &mut Child) {
    thread::sleep(MOMENT);
    let leader = etcd.wait_for_leader(None).unwrap();
    etcd.kill(leader);
    etcd.wait_for_leader(Some(leader)).unwrap();
    wait::within(wait::LIMIT * 3, "the command ends", || command.try_wait().unwrap().is_some());
    etcd.resume(leader).unwrap();
}

#[needs(etcd, time)]
#[test]
fn a_leader_that_is_killed_during_a_copy_takes_nothing_with_it() {
    let Some(etcd) = nodes("a copy to etcd", None) else { return };
    let (one, cluster, other) = (Store::sqlite(), store(&etcd, "zoo"), Store::sqlite());
    populate(&one, PETS);
    for (from, to) in [(&one, &cluster), (&cluster, &other)] {
        make(to);
        let words = ["store", "copy", "--from", &from.url, "--to", &to.url];
        kill_beside(&etcd, &mut petstore(&words).spawn());
        run(&words).succeeds();
        verify(&from.url, &to.url);
    }
}
