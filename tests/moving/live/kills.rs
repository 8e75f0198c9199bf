//! Kills of the mover and of the service, at whatever moment.

use std::{thread, time::Duration};

use petstore_testing::needs;

use super::{
    commands::{follow, spawn, step, until_caught_up},
    load::Load,
    populated::populate,
};
use crate::{
    moving::{animals::many, commands::feed},
    support::{
        additions::everything_is_there,
        catalogue::everything,
        server::{Launch, Server},
        store::Store,
        wait,
    },
};

/// The moments, counted from the start of the command, in milliseconds. A flip takes some tens of them.
const MOMENTS: [u64; 12] = [5, 15, 25, 35, 45, 60, 80, 100, 130, 160, 200, 300];

#[needs(postgres)]
#[test]
fn a_mover_that_is_killed_at_any_moment_refuses_nothing() {
    let Some(to) = Store::postgres() else { return };
    let from = Store::sqlite();
    let mut all = populate(&from, 2_000);
    let server = Launch::on(&from).start();
    let load = Load::start("k", &[server.client()]);
    for moment in MOMENTS {
        let mut mover = follow(&from, &to);
        thread::sleep(Duration::from_millis(moment * 3));
        mover.0.kill().unwrap();
    }
    let mut mover = follow(&from, &to);
    until_caught_up(&from, &to);
    mover.0.kill().unwrap();
    for (number, moment) in MOMENTS.into_iter().enumerate() {
        let name = if number % 2 == 0 { "flip" } else { "back" };
        let mut mover = spawn(&from, &to, name);
        thread::sleep(Duration::from_millis(moment));
        mover.0.kill().unwrap();
        load.goes_on();
    }
    step(&from, &to, "flip").succeeds();
    step(&from, &to, "finish").succeeds();
    all.extend(load.end());
    everything_is_there(&server.client(), &all);
}

#[needs(postgres)]
#[test]
fn a_service_that_is_killed_at_each_step_goes_on_with_either_url() {
    let Some(to) = Store::postgres() else { return };
    let from = Store::sqlite();
    feed(&["import", "--create", "--store", &from.url], &many(500)).succeeds();
    let mut count = 500;
    let mut add = |server: &Server| {
        // Other names each time: their idempotency keys must be new.
        let load = Load::start(&format!("s{count}"), &[server.client()]);
        wait::until("additions are there", || load.acknowledged() > 20);
        count += load.end().len();
        count
    };
    let mut server = Launch::on(&from).start();
    add(&server);
    let _follower = follow(&from, &to);
    until_caught_up(&from, &to);
    for name in ["follow", "flip", "back", "flip"] {
        if name != "follow" {
            step(&from, &to, name).succeeds();
        }
        server.kill();
        for url in [&to, &from] {
            server = Launch::on(url).start();
            let count = add(&server);
            assert_eq!(everything(&server.client()).len(), count);
        }
    }
    step(&from, &to, "finish").succeeds();
    server.kill();
    Launch::on(&from).finish().fails(1, "this store was moved to ");
}
