//! Moves and copies to a cluster of etcd and back, whose leader is killed meanwhile.

use std::{
    process::Child,
    thread,
    time::{Duration, Instant},
};

use petstore_testing::{Etcd, needs};

use super::{
    commands::{hand_over, serve, spawn},
    populated::populate,
};
use crate::{
    etcd::{nodes, store},
    failover::{journal::NEED_THE_STORE, load::Load},
    moving::commands::{make, run, verify},
    support::{
        additions::{Addition, everything_is_there},
        command::petstore,
        server::Launch,
        store::Store,
        wait,
    },
};

const PETS: usize = 20_000;
/// So many writers add less than a mover copies, on a slow machine too.
const FEW: usize = 4;
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

/// Hands a store over under load; what must be there of it.
#[track_caller]
fn moves(
    etcd: &Etcd,
    from: &Store,
    to: &Store,
    mut all: Vec<Addition>,
    writer: usize,
) -> Vec<Addition> {
    let key = from.new_key(&format!("writer-{writer}"));
    let server = serve(from, to);
    let load = Load::start_as(writer..writer + FEW, &server.client(), &key, false);
    load.journal.wait_for(Instant::now(), &NEED_THE_STORE, 10);
    kill_beside(etcd, &mut spawn(from, to).0);
    hand_over(from, to).succeeds();
    load.journal.wait_for(Instant::now(), &NEED_THE_STORE, 10);
    all.extend(load.stop());
    everything_is_there(&server.client(), &all);
    drop(server);
    everything_is_there(&Launch::on(to).start().client(), &all);
    petstore(&["check", "--store", &to.url]).finish().succeeds();
    all
}

#[needs(etcd, time)]
#[test]
fn a_leader_that_is_killed_during_a_move_takes_nothing_with_it() {
    let Some(etcd) = nodes("a move to etcd", None) else { return };
    let (file, cluster) = (Store::sqlite(), store(&etcd, "zoo"));
    let all = populate(&file, PETS);
    let all = moves(&etcd, &file, &cluster, all, 0);
    moves(&etcd, &cluster, &file, all, 100);
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
