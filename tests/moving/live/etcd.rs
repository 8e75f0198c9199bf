//! Moves to an etcd cluster and back, while the leader of the cluster is killed.

use std::{
    sync::Arc,
    thread,
    time::{Duration, Instant},
};

use petstore_testing::{Etcd, needs};

use super::commands::{hand_over, populate, serve, spawn};
use crate::{
    etcd::{nodes, store},
    load::{Load, NEED_THE_STORE, Outages, journal::Journal},
    support::{
        command::{Running, petstore},
        server::Launch,
        store::Store,
        wait,
    },
};

const PETS: usize = 20_000;
/// The number of writers. A mover copies faster than this number of writers adds, even on a slow machine.
const FEW: usize = 4;
/// The time after which a command is under way.
const MOMENT: Duration = Duration::from_millis(300);

/// Kills the leader while a command runs, waits for the end of the command, and restarts the node.
#[track_caller]
fn kill_beside(etcd: &Etcd, command: &mut Running) {
    thread::sleep(MOMENT);
    let leader = etcd.wait_for_leader(None).unwrap();
    etcd.kill(leader);
    etcd.wait_for_leader(Some(leader)).unwrap();
    wait::within(wait::LIMIT * 3, "the command ends", || command.try_wait().unwrap().is_some());
    etcd.resume(leader).unwrap();
}

/// Moves a store under load while the leader of `etcd` is killed. Asserts that no animal is lost.
#[track_caller]
fn moves(etcd: &Etcd, from: &Store, to: &Store, all: &Arc<Journal>, key: &str) {
    let key = from.new_key(key);
    let server = serve(from, to);
    let client = server.client();
    let load = Load::on(&client, all, Outages::Refuse).writers(FEW, Some(&key)).readers(2);
    let mut load = load.probes(&key);
    load.works(Instant::now(), &NEED_THE_STORE, 10);
    kill_beside(etcd, &mut spawn(from, to));
    hand_over(from, to).succeeds();
    load.works(Instant::now(), &NEED_THE_STORE, 10);
    load.stop();
    all.is_kept_by(&client);
    drop(server);
    all.is_kept_by(&Launch::on(to).start().client());
    petstore(&["check", "--store", &to.url]).finish().succeeds();
}

#[needs(etcd, time)]
#[test]
fn a_leader_killed_during_a_move_loses_no_animal() {
    let etcd = nodes(None);
    let (file, cluster) = (Store::sqlite(), store(&etcd, "zoo"));
    let all = populate(&file, PETS);
    moves(&etcd, &file, &cluster, &all, "there");
    moves(&etcd, &cluster, &file, &all, "back");
}
