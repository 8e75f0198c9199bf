//! Faults during a handover besides kills of the mover: movers that freeze, servers that die or are followed by a
//! standby that is behind, records that expire meanwhile.

use std::{thread, time::Duration};

use petstore_testing::{Cluster, Durability, cluster_or_skip, needs};

use super::{
    commands::{hand_over, load, pause, populate, serve, spawn},
    kills::kill_beside,
};
use crate::load::journal::{Addition, Journal};
use crate::support::{
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
    let all = populate(&one, 2_000);
    let server = serve(&one, &other);
    let mut load = load(&[server.client()], &all);
    for (number, moment) in MOMENTS.into_iter().enumerate() {
        let (from, to) = if number % 2 == 0 { (&one, &other) } else { (&other, &one) };
        let mut frozen = spawn(from, to);
        thread::sleep(Duration::from_millis(moment));
        signal(&frozen, "STOP");
        hand_over(from, to).succeeds();
        load[0].goes_on();
        signal(&frozen, "CONT");
        exit(&mut frozen);
        load[0].goes_on();
        assert_eq!(pause(&hand_over(from, to).succeeds()), 0, "the handover was undone");
    }
    load[0].stop();
    all.is_kept_by(&server.client());
    petstore(&["check", "--store", &one.url]).finish().succeeds();
}

/// The store holds records that the other one has purged since they were copied.
#[needs(time)]
#[test]
fn records_that_expire_between_two_handovers_do_not_keep_the_stores_apart() {
    let (one, other) = (Store::sqlite(), Store::sqlite());
    let server = serve(&one, &other);
    let client = server.client();
    let all = Journal::new();
    for number in 0..20 {
        all.add(&client, &Addition::new(&format!("old {number}"), number, true)).is(201);
    }
    hand_over(&one, &other).succeeds();
    hand_over(&other, &one).succeeds();
    for store in [&one, &other] {
        store.vandalise("UPDATE idempotency SET created_at = created_at - 90000000");
    }
    one.vandalise("DELETE FROM idempotency");
    hand_over(&one, &other).succeeds();
    all.is_kept_by(&client);
}

/// The server of the old store is killed while it is copied.
#[needs(postgres, time)]
#[test]
fn an_old_store_that_is_killed_meanwhile_loses_nothing() {
    let test = "an old store that is killed meanwhile";
    let Some(cluster) = cluster_or_skip(test, Durability::Full) else { return };
    let (from, to) = (Store::at(&cluster.url("postgres")), Store::sqlite());
    let all = populate(&from, 30_000);
    let server = serve(&from, &to);
    let mut mover = spawn(&from, &to);
    kill_beside(&cluster, &mut mover);
    hand_over(&from, &to).succeeds();
    let mut load = load(&[server.client()], &all);
    load[0].goes_on();
    load[0].stop();
    all.is_kept_by(&server.client());
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
    let all = populate(&from, 30_000);
    let server = serve(&from, &to);
    let mut mover = spawn(&from, &to);
    let count = "SELECT count(*) FROM pet";
    wait::until("the new store is filled", || {
        primary.sql(count).is_ok_and(|count| count.trim() != "0")
    });
    signal(&mover, "STOP");
    // From here on the server acknowledges what its standby does not have.
    standby.stop().unwrap();
    primary.sql("ALTER SYSTEM SET synchronous_standby_names = ''").unwrap();
    primary.sql("SELECT pg_reload_conf()").unwrap();
    signal(&mover, "CONT");
    assert_eq!(exit(&mut mover), Some(0));
    server.client().get("/v1/pets/1").send().is(200);
    primary.kill9().unwrap();
    standby.resume().unwrap();
    standby.promote().unwrap();
    wait::until("the standby takes writes", || {
        standby.sql("SELECT pg_is_in_recovery()").is_ok_and(|answer| answer.trim() == "f")
    });
    assert_ne!(standby.sql(count).unwrap().trim(), "30000", "the standby is not behind");
    Launch::on(&to).finish().fails(78, "is being filled from another store");

    hand_over(&from, &to).succeeds();
    let mut load = load(&[server.client()], &all);
    load[0].goes_on();
    load[0].stop();
    all.is_kept_by(&server.client());
    drop(server);
    all.is_kept_by(&Launch::on(&to).start().client());
}
