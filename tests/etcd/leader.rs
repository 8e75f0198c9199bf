//! The leader fails or is cut off under load, and later returns.

use std::{thread, time::Duration};

use petstore_testing::{Etcd, Network, needs, network_or_skip};

use super::{NODES, nodes, trial::Trial};

/// The time for which the leader is absent, longer than an instance waits for an answer.
const AWAY: Duration = Duration::from_secs(7);
/// The time for which the other nodes are stopped before the leader is lost.
const IN_DOUBT: Duration = Duration::from_millis(300);
/// The time for which the services are watched after the leader's return.
const BACK: Duration = Duration::from_secs(4);

fn is_survived(
    what: &str,
    network: Option<&Network>,
    lose: &dyn Fn(&Etcd, usize),
    back: &dyn Fn(&Etcd, usize),
) {
    let etcd = nodes(network);
    let mut trial = Trial::start(&etcd);
    let leader = etcd.wait_for_leader(None).unwrap();
    trial.happens(what, AWAY, || lose(&etcd, leader));
    assert_ne!(etcd.leader(), Some(leader), "{what}: the lost node is still the leader");
    trial.happens("the return of the leader", BACK, || back(&etcd, leader));
    trial.ends(what);
}

/// Loses the leader while its next entries are in transit to the other nodes. The other nodes read the entries
/// afterwards, so these writes take effect without an acknowledgement.
fn in_doubt(etcd: &Etcd, leader: usize, lose: &dyn Fn()) {
    let signal_others = |signal| {
        let others = (0..NODES).filter(|node| *node != leader);
        others.for_each(|node| etcd.signal(node, signal).unwrap());
    };
    signal_others("STOP");
    thread::sleep(IN_DOUBT);
    lose();
    signal_others("CONT");
}

#[needs(etcd, quiet)]
#[test]
fn the_loss_of_a_killed_leader_loses_no_animal() {
    let kill = |etcd: &Etcd, leader| in_doubt(etcd, leader, &|| etcd.kill(leader));
    let resume = |etcd: &Etcd, leader| etcd.resume(leader).unwrap();
    is_survived("a killed leader", None, &kill, &resume);
}

#[needs(etcd, quiet)]
#[test]
fn a_leader_frozen_for_a_while_loses_no_animal_and_adds_none_twice() {
    let stop = |etcd: &Etcd, leader| etcd.signal(leader, "STOP").unwrap();
    let freeze = |etcd: &Etcd, leader| in_doubt(etcd, leader, &|| stop(etcd, leader));
    let wake = |etcd: &Etcd, leader| etcd.signal(leader, "CONT").unwrap();
    is_survived("a frozen leader", None, &freeze, &wake);
}

#[needs(etcd, ip, quiet)]
#[test]
fn the_loss_of_a_cut_off_leader_loses_no_animal() {
    let what = "a leader that is cut off";
    let Some(network) = network_or_skip(NODES) else { return };
    let cut = |_: &Etcd, leader| network.cut(leader).unwrap();
    let heal = |_: &Etcd, leader| network.heal(leader).unwrap();
    is_survived(what, Some(&network), &cut, &heal);
}

/// The services still reach the node, which considers itself the leader for a while.
#[needs(etcd, ip, quiet)]
#[test]
fn services_leave_a_leader_that_is_cut_off_from_the_other_nodes() {
    let what = "a leader without followers";
    let Some(network) = network_or_skip(NODES) else { return };
    let cut = |_: &Etcd, leader| network.cut_from_others(leader).unwrap();
    let heal = |_: &Etcd, leader| network.heal_from_others(leader).unwrap();
    is_survived(what, Some(&network), &cut, &heal);
}
