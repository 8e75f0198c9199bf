//! Kills of the mover and of the service, at whatever moment, and handovers that are given up.

use std::{thread, time::Duration};

use petstore_testing::{Cluster, Durability, cluster_or_skip, needs};

use super::commands::{cancel, hand_over, load, populate, serve, spawn};
use crate::support::{
    catalogue::{id_of, pet},
    command::{Running, exit, petstore},
    server::{Launch, Server},
    store::Store,
    wait,
};

/// The moments, counted from the start of the command, in milliseconds. A handover takes some hundreds of them.
const MOMENTS: [u64; 14] = [5, 20, 40, 60, 90, 120, 160, 200, 240, 280, 320, 380, 450, 550];

/// Kills the mover at each moment, and then runs it to its end, while requests come. Each of them is answered.
fn survives(from: &Store, to: &Store, gives_up: bool) {
    let all = populate(from, 2_000);
    let server = serve(from, to);
    let mut load = load(&[server.client()], &all);
    for moment in MOMENTS {
        let mover = spawn(from, to);
        thread::sleep(Duration::from_millis(moment));
        drop(mover);
        if gives_up && cancel(from, to).code == Some(0) {
            load[0].goes_on();
            // A part of a copy is no store of its own. The copy may not have begun.
            if to.pets() == 0 {
                continue;
            }
            Launch::on(to).finish().fails(78, "was handed over to ");
        }
    }
    hand_over(from, to).succeeds();
    load[0].goes_on();
    cancel(from, to).fails(1, "the way back is the same command");
    load[0].stop();
    all.is_kept_by(&server.client());
    drop(server);
    all.is_kept_by(&Launch::on(to).start().client());
}

#[needs(postgres, time)]
#[test]
fn a_mover_that_is_killed_at_any_moment_refuses_nothing() {
    let Some(to) = Store::postgres() else { return };
    survives(&Store::sqlite(), &to, false);
}

#[needs(postgres, time)]
#[test]
fn a_mover_that_is_killed_on_its_way_to_a_file_refuses_nothing() {
    let Some(from) = Store::postgres() else { return };
    survives(&from, &Store::sqlite(), false);
}

#[needs(etcd, time)]
#[test]
fn a_mover_that_is_killed_on_its_way_to_etcd_refuses_nothing() {
    let Some(to) = Store::etcd() else { return };
    survives(&Store::sqlite(), &to, false);
}

#[needs(etcd, time)]
#[test]
fn a_mover_that_is_killed_on_its_way_from_etcd_refuses_nothing() {
    let Some(from) = Store::etcd() else { return };
    survives(&from, &Store::sqlite(), false);
}

#[needs(time)]
#[test]
fn a_handover_that_is_given_up_at_any_moment_loses_nothing() {
    survives(&Store::sqlite(), &Store::sqlite(), true);
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
    load[0].goes_on();
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
    load[0].goes_on();
    load[0].stop();
    server.kill();
    for _ in 0..2 {
        let mut server = serve(&from, &to);
        all.is_kept_by(&server.client());
        server.kill();
    }
}

/// An instance that was frozen while the store was handed over answers its first request by what was added since.
#[needs(postgres, time)]
#[test]
fn an_instance_that_has_not_noticed_misses_nothing() {
    for (from, to) in [
        (Store::sqlite(), Store::sqlite()),
        (Store::new(crate::support::store::Kind::Postgres), Store::sqlite()),
    ] {
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

/// A PostgreSQL server is killed while it is filled.
#[needs(postgres, time)]
#[test]
fn a_new_store_that_is_killed_meanwhile_loses_nothing() {
    let test = "a new store that is killed meanwhile";
    let Some(cluster) = cluster_or_skip(test, Durability::Full) else { return };
    let (from, to) = (Store::sqlite(), Store::at(&cluster.url("postgres")));
    let all = populate(&from, 30_000);
    let server = serve(&from, &to);
    let mut load = load(&[server.client()], &all);
    let mut mover = spawn(&from, &to);
    kill_beside(&cluster, &mut mover);
    hand_over(&from, &to).succeeds();
    load[0].goes_on();
    load[0].stop();
    all.is_kept_by(&server.client());
    petstore(&["check", "--store", &to.url]).finish().succeeds();
}
