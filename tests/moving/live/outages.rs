//! A server of PostgreSQL is killed at each step of a move. Only what needs it is refused.

use std::{thread, time::Duration};

use petstore_testing::{Cluster, Durability, cluster_or_skip, needs};

use super::{
    commands::{follow, spawn, step, until_begun, until_caught_up},
    load::Load,
    populated::populate,
};
use crate::support::{
    additions::everything_is_there,
    command::{exit, petstore},
    server::Launch,
    store::Store,
};

/// Some batches of a backfill.
const ANIMALS: usize = 8_000;
/// From the start of a flip until the server is killed: about half way.
const MOMENT: Duration = Duration::from_millis(120);

/// A move with a server that is killed.
struct Move<'a> {
    cluster: &'a Cluster,
    /// The store on that server.
    there: &'a Store,
    from: &'a Store,
    to: &'a Store,
    load: &'a Load,
}

impl Move<'_> {
    /// Kills the server and starts it again; `meanwhile` it is down.
    fn outage(&self, decides: &Store, meanwhile: impl FnOnce()) {
        let kill = || self.cluster.kill9().unwrap();
        let resume = || {
            meanwhile();
            self.cluster.resume().unwrap();
            self.load.goes_on();
        };
        self.load.goes_on();
        if decides.url == self.there.url {
            self.load.during(|| (kill(), resume()));
        } else {
            // What is under way may be of a time when it was needed. Nothing that is sent now is.
            self.load.during(kill);
            self.load.goes_on();
            resume();
        }
    }

    /// A command fails in one line while the server is down.
    fn fails(&self, name: &str) {
        let failed = step(self.from, self.to, name);
        assert_eq!((failed.code, failed.stderr.lines().count()), (Some(1), 1), "{failed:?}");
    }

    /// The server is killed during a flip, which is resumed by the same command.
    fn flip(&self, name: &str) {
        let mut flip = spawn(self.from, self.to, name);
        thread::sleep(MOMENT);
        self.load.during(|| {
            self.cluster.kill9().unwrap();
            self.cluster.resume().unwrap();
            self.load.goes_on();
        });
        // It may have failed, or it has gone on by itself.
        exit(&mut flip.0);
        step(self.from, self.to, name).succeeds();
    }

    fn run(&self) {
        let Self { from, to, .. } = *self;
        self.load.goes_on();
        let mut follower = follow(from, to);
        until_begun(from, to);
        self.outage(from, || ());
        until_caught_up(from, to);
        assert!(follower.0.try_wait().unwrap().is_none(), "the mover has given up");
        drop(follower);
        self.outage(from, || ["follow", "flip"].iter().for_each(|name| self.fails(name)));
        let _follower = follow(from, to);
        until_caught_up(from, to);
        self.flip("flip");
        self.outage(to, || ());
        until_caught_up(from, to);
        self.flip("back");
        self.outage(from, || ());
        step(from, to, "flip").succeeds();
        until_caught_up(from, to);
        self.outage(to, || self.fails("finish"));
        step(from, to, "finish").succeeds();
        self.load.goes_on();
    }
}

fn survives(test: &str, is_source: bool) {
    let Some(cluster) = cluster_or_skip(test, Durability::Full) else { return };
    let there = &Store::at(&cluster.url("postgres"));
    let file = &Store::sqlite();
    let (from, to) = if is_source { (there, file) } else { (file, there) };
    let mut additions = populate(from, ANIMALS);
    let server = Launch::on(from).start();
    let load = Load::start("o", &[server.client()]);
    Move { cluster: &cluster, there, from, to, load: &load }.run();
    additions.extend(load.end());
    everything_is_there(&server.client(), &additions);
    petstore(&["check", "--store", &to.url]).finish().succeeds();
}

#[needs(postgres)]
#[test]
fn a_target_that_is_killed_at_each_step_loses_nothing() {
    survives("a target that is killed", false);
}

#[needs(postgres)]
#[test]
fn a_source_that_is_killed_at_each_step_loses_nothing() {
    survives("a source that is killed", true);
}
