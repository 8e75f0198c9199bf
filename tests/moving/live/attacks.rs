//! Movers that freeze during a move, and a failover to an outdated standby of the new store.

use std::cell::RefCell;

use petstore_testing::{Cluster, Durability, needs};

use super::{
    commands::{hand_over, load, populate, serve, spawn},
    phase::{Phase, in_each_phase},
};
use crate::support::{
    command::{exit, petstore, signal},
    server::Launch,
    store::Store,
    wait,
};

/// Returns a store with the addresses of two servers. A client connects to the server that accepts writes.
fn either(primary: &Cluster, standby: &Cluster) -> Store {
    Store::at(&format!(
        "postgres://petstore:secret@127.0.0.1:{},127.0.0.1:{}/postgres\
         ?target_session_attrs=read-write&call_timeout=5s",
        primary.port(),
        standby.port()
    ))
}

/// A mover freezes in each phase, another mover completes the move, and then the frozen movers continue. The test uses
/// PostgreSQL, because PostgreSQL ends the transaction of a frozen client. A frozen client of a SQLite file would keep
/// its lock.
#[needs(postgres, time)]
#[test]
fn a_mover_frozen_in_any_phase_does_no_harm_when_it_continues() {
    let [one, other] = [Store::postgres(), Store::postgres()];
    let all = populate(&one, 2_000);
    let server = serve(&one, &other);
    let mut load = load(&[server.client()], &all).remove(0);
    let frozen = RefCell::new(Vec::new());
    in_each_phase(
        [&one, &other],
        |mover, phase, _| frozen.borrow_mut().push((mover, phase)),
        |[from, to]| {
            hand_over(from, to).succeeds();
            load.continues();
            for (mut mover, phase) in frozen.take() {
                // A mover may have ended before it was frozen.
                if mover.try_wait().unwrap().is_none() {
                    signal(&mover, "CONT");
                    exit(&mut mover);
                }
                load.continues();
                assert_eq!(
                    Phase::of(from, to),
                    Phase::Done,
                    "the mover frozen in {phase:?} undid the move"
                );
            }
        },
    );
    load.stop();
    all.is_kept_by(&server.client());
    petstore(&["check", "--store", &one.url]).finish().succeeds();
}

/// The server of the new store is lost after the handover. Its standby lacks the last animals, and the store on it is
/// still in the state `filling`. A second handover fills the standby from the old store and opens it.
#[needs(postgres, time)]
#[test]
fn a_second_handover_fills_a_promoted_standby_that_lacks_animals() {
    let primary = Cluster::start(Durability::Full).unwrap();
    let standby = primary.standby().unwrap();
    let (from, to) = (Store::sqlite(), either(&primary, &standby));
    let all = populate(&from, 30_000);
    let server = serve(&from, &to);
    let mut mover = spawn(&from, &to);
    let count = "SELECT count(*) FROM pet";
    wait::until("the new store has animals", || {
        primary.sql(count).is_ok_and(|count| count.trim() != "0")
    });
    signal(&mover, "STOP");
    // From here on, the server commits without its standby.
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
    assert_ne!(standby.sql(count).unwrap().trim(), "30000", "the standby lacks no animal");
    Launch::on(&to).finish().fails(78, "is being filled from another store");

    hand_over(&from, &to).succeeds();
    let mut load = load(&[server.client()], &all);
    load[0].continues();
    load[0].stop();
    all.is_kept_by(&server.client());
    drop(server);
    all.is_kept_by(&Launch::on(&to).start().client());
}
