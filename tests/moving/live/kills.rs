//! Kills of the mover and cancellations in each phase of a move, a frozen instance, and kills of a store's server.

use std::{thread, time::Duration};

use petstore_testing::{Cluster, Durability, needs};

use super::{
    commands::{cancel, hand_over, load, populate, serve, spawn},
    phase::{Phase, in_each_phase},
};
use crate::support::{
    catalogue::{id_of, pet},
    command::{Running, petstore},
    server::{Launch, Server},
    store::{Kind, Store, on_stores},
    wait,
};

/// Kills the mover in each phase of a move, there and back, under load. If `is_canceled`, also cancels the move after a
/// kill. No request may be refused.
fn survives<'a>([one, other]: [&'a Store; 2], is_canceled: bool) {
    let all = populate(one, 2_000);
    let server = serve(one, other);
    let mut load = load(&[server.client()], &all).remove(0);
    let mut last = other;
    let kill = |mover: Running, phase, [from, to]: [&'a Store; 2]| {
        drop(mover);
        if phase == Phase::Sealed {
            // Reads do not wait for the new store.
            server.client().get("/v1/pets/1").send().is(200);
        }
        if is_canceled && phase < Phase::Done && to.state().is_some() {
            let said = cancel(from, to).succeeds();
            assert_eq!(said, format!("{} is open, and nothing is handed over\n", from.url));
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

fn a_mover_killed_in_any_phase_refuses_no_request(kinds: [Kind; 2]) {
    let [one, other] = kinds.map(Store::new);
    survives([&one, &other], false);
}

on_stores!(
    pairs:
    #[petstore_testing::needs(time)]
    a_mover_killed_in_any_phase_refuses_no_request,
);

#[needs(time)]
#[test]
fn a_move_canceled_in_any_phase_loses_nothing() {
    survives([&Store::sqlite(), &Store::sqlite()], true);
}

/// An instance is frozen during a move. Its first answer afterwards has the animals that were added meanwhile.
#[needs(postgres, time)]
#[test]
fn an_instance_frozen_during_a_handover_shows_every_later_animal() {
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
        assert!(String::from_utf8_lossy(&page.body).contains("Late"), "the animal is missing");
        frozen.get(&format!("/v1/pets/{}", id_of(&added))).send().is(200);
        frozen.add(&pet("Later")).send().is(201);
    }
}

/// The PostgreSQL server of the old or of the new store is killed three times during the copy.
#[needs(postgres, time)]
#[test]
fn a_store_killed_during_a_move_loses_nothing() {
    for is_old in [true, false] {
        let cluster = Cluster::start(Durability::Full).unwrap();
        let (file, database) = (Store::sqlite(), Store::at(&cluster.url("postgres")));
        let (from, to) = if is_old { (database, file) } else { (file, database) };
        let all = populate(&from, 30_000);
        let server = serve(&from, &to);
        // A service on the old store refuses requests while the server of the old store is down.
        let mut loads = if is_old { Vec::new() } else { load(&[server.client()], &all) };
        let mut mover = spawn(&from, &to);
        for _ in 0..3 {
            thread::sleep(Duration::from_millis(250));
            cluster.kill9().unwrap();
            cluster.resume().unwrap();
        }
        wait::within(wait::LIMIT * 5, "the mover ends", || mover.try_wait().unwrap().is_some());
        hand_over(&from, &to).succeeds();
        if is_old {
            loads = load(&[server.client()], &all);
        }
        loads[0].continues();
        loads[0].stop();
        all.is_kept_by(&server.client());
        petstore(&["check", "--store", &to.url]).finish().succeeds();
    }
}
