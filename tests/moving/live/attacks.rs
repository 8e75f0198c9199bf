//! What may happen to a handover besides kills of the mover: movers that freeze, servers that die or are followed by a
//! standby that is behind, records that expire meanwhile.

use std::{thread, time::Duration};

use petstore_testing::{Cluster, Durability, cluster_or_skip, needs};

use super::{
    commands::{hand_over, pause, serve, spawn},
    kills::kill_beside,
    load::Load,
    populated::populate,
};
use crate::support::{
    additions::{Addition, everything_is_there},
    command::{exit, petstore, signal},
    server::Launch,
    store::Store,
    wait,
};

/// When a mover freezes, counted from the start of the command, in milliseconds. A handover takes some hundreds of them.
const MOMENTS: [u64; 8] = [5, 30, 70, 120, 170, 220, 280, 350];

/// The name of a store that a service finds on whichever of two servers takes writes.
fn either(primary: &Cluster, standby: &Cluster) -> Store {
    Store::at(&format!(
        "postgres://petstore:secret@127.0.0.1:{},127.0.0.1:{}/postgres\
         ?target_session_attrs=read-write&call_timeout=5s",
        primary.port(),
        standby.port()
    ))
}

/// A mover freezes, another one takes its place, and then the first one goes on. On PostgreSQL, which ends the
/// transaction of a client that is silent; a file of SQLite stays locked while the process that has locked it is frozen.
#[needs(postgres, time)]
#[test]
fn a_mover_that_was_frozen_at_any_moment_does_no_harm_when_it_goes_on() {
    let Some((one, other)) = Store::postgres().zip(Store::postgres()) else { return };
    let mut all = populate(&one, 2_000);
    let server = serve(&one, &other);
    let load = Load::start("z", &[server.client()]);
    for (number, moment) in MOMENTS.into_iter().enumerate() {
        let (from, to) = if number % 2 == 0 { (&one, &other) } else { (&other, &one) };
        let mut frozen = spawn(from, to);
        thread::sleep(Duration::from_millis(moment));
        signal(&frozen.0, "STOP");
        hand_over(from, to).succeeds();
        load.goes_on();
        signal(&frozen.0, "CONT");
        exit(&mut frozen.0);
        load.goes_on();
        assert_eq!(pause(&hand_over(from, to).succeeds()), 0, "the handover was undone");
    }
    all.extend(load.end());
    everything_is_there(&server.client(), &all);
    petstore(&["check", "--store", &one.url]).finish().succeeds();
}

/// The store holds records that the other one has purged since they were copied.
#[needs(time)]
#[test]
fn records_that_expire_between_two_handovers_do_not_keep_the_stores_apart() {
    let (one, other) = (Store::sqlite(), Store::sqlite());
    let server = serve(&one, &other);
    let client = server.client();
    let all: Vec<Addition> = (0..20)
        .map(|number| {
            let mut addition = Addition::new(&format!("old {number}"), number, true);
            addition.acknowledged = Some(addition.call(&client).send().is(201).json());
            addition
        })
        .collect();
    hand_over(&one, &other).succeeds();
    hand_over(&other, &one).succeeds();
    for store in [&one, &other] {
        store.vandalise("UPDATE idempotency SET created_at = created_at - 90000000");
    }
    one.vandalise("DELETE FROM idempotency_index; DELETE FROM idempotency");
    hand_over(&one, &other).succeeds();
    everything_is_there(&client, &all);
}

/// The server of the old store is killed while it is copied.
#[needs(postgres, time)]
#[test]
fn an_old_store_that_is_killed_meanwhile_loses_nothing() {
    let test = "an old store that is killed meanwhile";
    let Some(cluster) = cluster_or_skip(test, Durability::Full) else { return };
    let (from, to) = (Store::at(&cluster.url("postgres")), Store::sqlite());
    let mut all = populate(&from, 30_000);
    let server = serve(&from, &to);
    let mut mover = spawn(&from, &to);
    kill_beside(&cluster, &mut mover);
    hand_over(&from, &to).succeeds();
    let load = Load::start("r", &[server.client()]);
    load.goes_on();
    all.extend(load.end());
    everything_is_there(&server.client(), &all);
}

/// The server of the new store is lost after the handover, and its standby has neither the last animals nor the
/// opening: whoever runs the command again gets them from the old store.
#[needs(postgres, time)]
#[test]
fn a_new_store_that_fails_over_to_a_standby_that_is_behind_is_filled_again() {
    let test = "a new store that fails over";
    let Some(primary) = cluster_or_skip(test, Durability::Full) else { return };
    let standby = primary.standby().unwrap();
    let (from, to) = (Store::sqlite(), either(&primary, &standby));
    let mut all = populate(&from, 30_000);
    let server = serve(&from, &to);
    let mut mover = spawn(&from, &to);
    let count = "SELECT count(*) FROM pet";
    wait::until("the new store is filled", || {
        primary.sql(count).is_ok_and(|count| count.trim() != "0")
    });
    signal(&mover.0, "STOP");
    // From here on the server acknowledges what its standby does not have.
    standby.stop().unwrap();
    primary.sql("ALTER SYSTEM SET synchronous_standby_names = ''").unwrap();
    primary.sql("SELECT pg_reload_conf()").unwrap();
    signal(&mover.0, "CONT");
    assert_eq!(exit(&mut mover.0), Some(0));
    server.client().get("/v1/pets/1").send().is(200);
    primary.kill9().unwrap();
    standby.resume().unwrap();
    standby.promote().unwrap();
    wait::until("the standby takes writes", || {
        standby.sql("SELECT pg_is_in_recovery()").is_ok_and(|answer| answer.trim() == "f")
    });
    assert_ne!(standby.sql(count).unwrap().trim(), "30000", "the standby is not behind");
    Launch::on(&to).finish().fails(78, "is being filled from another one");

    hand_over(&from, &to).succeeds();
    let load = Load::start("f", &[server.client()]);
    load.goes_on();
    all.extend(load.end());
    everything_is_there(&server.client(), &all);
    drop(server);
    everything_is_there(&Launch::on(&to).start().client(), &all);
}
