//! Kills of the mover and cancellations in each phase of a move, and kills of stores and services.

use std::{thread, time::Duration};

use petstore_testing::{Cluster, Durability, needs};

use super::{
    commands::{cancel, hand_over, load, populate, serve, spawn},
    phase::{Phase, in_each_phase},
};
use crate::support::{
    catalogue::{id_of, pet},
    command::{Running, exit, petstore},
    server::{Launch, Server},
    store::{Kind, Store, on_stores},
    wait,
};

/// Kills the mover in each phase of a move, there and back, under load. No request may be refused.
fn survives<'a>([one, other]: [&'a Store; 2], is_canceled: bool) {
    let all = populate(one, 2_000);
    let server = serve(one, other);
    let mut load = load(&[server.client()], &all).remove(0);
    let mut last = other;
    let kill = |mover: Running, phase, [from, to]: [&'a Store; 2]| {
        drop(mover);
        if is_canceled && phase < Phase::Done && to.state().is_some() {
            cancel(from, to).succeeds();
            if phase > Phase::Begun {
                // No service can use an incomplete copy.
                Launch::on(to).finish().fails(78, "was handed over to ");
            }
        }
    };
    in_each_phase([one, other], kill, |[from, to]| {
        hand_over(from, to).succeeds();
        cancel(from, to).fails(1, "the way back is the same command");
        load.continues();
        last = to;
    });
    load.stop();
    all.is_kept_by(&server.client());
    drop(server);
    all.is_kept_by(&Launch::on(last).start().client());
}

fn a_mover_that_is_killed_in_any_phase_refuses_nothing(kinds: [Kind; 2]) {
    let [one, other] = kinds.map(Store::new);
    survives([&one, &other], false);
}

on_stores!(
    pairs:
    #[petstore_testing::needs(time)]
    a_mover_that_is_killed_in_any_phase_refuses_nothing,
);

#[needs(time)]
#[test]
fn a_move_that_is_canceled_in_any_phase_loses_nothing() {
    survives([&Store::sqlite(), &Store::sqlite()], true);
}

#[needs(time)]
#[test]
fn two_movers_at_once_do_no_harm() {
    let (from, to) = (Store::sqlite(), Store::sqlite());
    let all = populate(&from, 2_000);
    let server = serve(&from, &to);
    let mut load = load(&[server.client()], &all);
    let mut movers: Vec<Running> = (0..3).map(|_| spawn(&from, &to)).collect();
    for mover in &mut movers {
        exit(mover);
    }
    hand_over(&from, &to).succeeds();
    load[0].continues();
    load[0].stop();
    all.is_kept_by(&server.client());
}

#[needs(time)]
#[test]
fn a_service_that_is_killed_and_started_anew_finds_the_open_store() {
    let (from, to) = (Store::sqlite(), Store::sqlite());
    let all = populate(&from, 500);
    let mut server = serve(&from, &to);
    let mut load = load(&[server.client()], &all);
    hand_over(&from, &to).succeeds();
    load[0].continues();
    load[0].stop();
    server.kill();
    for _ in 0..2 {
        let mut server = serve(&from, &to);
        all.is_kept_by(&server.client());
        server.kill();
    }
}

/// An instance is frozen during a move. Its first answer has the animals that were added meanwhile.
#[needs(postgres, time)]
#[test]
fn an_instance_that_has_not_noticed_misses_nothing() {
    for (from, to) in [(Store::sqlite(), Store::sqlite()), (Store::postgres(), Store::sqlite())] {
        populate(&from, 10);
        let servers = [serve(&from, &to), serve(&from, &to)];
        let [active, frozen] = servers.each_ref().map(Server::client);
        frozen.get("/v1/pets?limit=100").send().is(200);
        servers[1].signal("STOP");
        hand_over(&from, &to).succeeds();
        let added = active.add(&pet("Late")).send().is(201).json();
        servers[1].signal("CONT");
        let page = frozen.get("/v1/pets?limit=100").send().is(200);
        assert!(String::from_utf8_lossy(&page.body).contains("Late"), "a page misses it");
        frozen.get(&format!("/v1/pets/{}", id_of(&added))).send().is(200);
        frozen.add(&pet("Later")).send().is(201);
    }
}

/// Kills the server three times while the mover works, and waits for the mover's end.
pub(super) fn kill_beside(cluster: &Cluster, mover: &mut Running) {
    for _ in 0..3 {
        thread::sleep(Duration::from_millis(250));
        cluster.kill9().unwrap();
        cluster.resume().unwrap();
    }
    wait::within(wait::LIMIT * 5, "the mover ends", || mover.try_wait().unwrap().is_some());
}

/// The PostgreSQL server of the new store is killed during the copy.
#[needs(postgres, time)]
#[test]
fn a_new_store_that_is_killed_meanwhile_loses_nothing() {
    let cluster = Cluster::start(Durability::Full).unwrap();
    let (from, to) = (Store::sqlite(), Store::at(&cluster.url("postgres")));
    let all = populate(&from, 30_000);
    let server = serve(&from, &to);
    let mut load = load(&[server.client()], &all);
    let mut mover = spawn(&from, &to);
    kill_beside(&cluster, &mut mover);
    hand_over(&from, &to).succeeds();
    load[0].continues();
    load[0].stop();
    all.is_kept_by(&server.client());
    petstore(&["check", "--store", &to.url]).finish().succeeds();
}
