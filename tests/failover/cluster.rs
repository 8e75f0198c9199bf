//! A Patroni cluster of three nodes in synchronous mode loses or changes its leader under load. One service finds the
//! leader by the addresses of the nodes, and another service finds the leader through `HAProxy`.
//!
//! By default, the test kills the leader once. `PETSTORE_TEST_CLUSTER=long` runs every case of `docs/POSTGRES.md`.

use std::{
    env,
    sync::Arc,
    time::{Duration, Instant},
};

use petstore_testing::needs;

use super::{
    patroni::Patroni,
    stray::Stray,
    times::{deadline, hold},
};
use crate::{
    load::{
        Load, NEED_THE_STORE, Outages, WRITERS,
        journal::{Entry, Journal, Kind},
    },
    support::{
        server::{Launch, Server},
        store::Store,
    },
};

/// The time limit for the first write and the first read after the election of a leader.
const AFTER_LEADER: Duration = Duration::from_secs(2);
/// The number of requests of each kind that succeed before and after an event.
const ENOUGH: usize = 20;

fn is_long() -> bool {
    match env::var("PETSTORE_TEST_CLUSTER").as_deref() {
        Err(_) => false,
        Ok("long") => true,
        Ok(other) => panic!("PETSTORE_TEST_CLUSTER can be 'long', not '{other}'"),
    }
}

/// A service under load.
struct Service {
    /// The way in which the service finds the leader, for messages.
    by: &'static str,
    server: Server,
    load: Load,
}

/// A cluster, and two services on its database.
struct Trial {
    patroni: Patroni,
    services: Vec<Service>,
    /// The requests to services that use only one node.
    strays: Vec<Arc<Journal>>,
    /// The moments when a frozen leader continued and when it had become a replica.
    thawed: Option<(Instant, Instant)>,
}

impl Trial {
    fn start(patroni: Patroni) -> Self {
        let key = Store::at(&patroni.run("url", "")).new_key("kept-in-the-store");
        let ways = [("addresses", "url"), ("HAProxy", "haproxy-url")];
        let services = ways.into_iter().map(|(by, url)| {
            let server = Launch::on(&Store::at(&patroni.run(url, ""))).start();
            let load = Load::on(&server.client(), &Journal::new(), Outages::Forget);
            let load = load.writers(WRITERS, Some(&key)).readers(2).probes(&key);
            Service { by, server, load }
        });
        let services = services.collect();
        let mut trial = Self { patroni, services, strays: Vec::new(), thawed: None };
        trial.works(Instant::now());
        trial
    }

    /// Waits until [`ENOUGH`] requests of each kind that needs the store have begun after `start` and succeeded.
    fn works(&mut self, start: Instant) {
        for service in &mut self.services {
            service.load.works(start, &NEED_THE_STORE, ENOUGH);
        }
    }

    /// Runs `event`, and waits for a leader other than `gone`. Asserts that both services write and read within
    /// [`AFTER_LEADER`]. Returns the moment when the new leader was found.
    fn happens(&mut self, what: &str, event: impl FnOnce(&Patroni), gone: &str) -> Instant {
        let start = Instant::now();
        event(&self.patroni);
        self.patroni.run("wait-leader", gone);
        let leader = Instant::now();
        petstore_testing::say(&format!("cluster: {what}: a leader after {:.1?}", leader - start));
        self.works(leader);
        for Service { by, load, .. } in &self.services {
            for kind in [Kind::Add, Kind::Read] {
                let first = load.first_success(leader, kind);
                let what = format!("{what}: first {kind:?} by {by} after a leader was found");
                hold(&what, first, AFTER_LEADER);
            }
        }
        leader
    }

    /// Runs the command `lose` on the leader, waits for a new leader, and runs `back` on the old leader. Asserts that
    /// the old leader then is a replica, and that it accepted no write after the new leader was found.
    fn loses_its_leader(&mut self, lose: &str, back: &str) {
        let leader = self.patroni.run("leader", "");
        let stray = Stray::start(&self.patroni.run("node-url", &leader));
        let what = format!("{lose} the leader");
        let deposed = self.happens(&what, |patroni| drop(patroni.run(lose, &leader)), &leader);
        let back_at = Instant::now();
        self.patroni.run(back, &leader);
        self.patroni.run("wait-whole", "");
        if back == "thaw" {
            self.thawed = Some((back_at, Instant::now()));
        }
        let status = self.patroni.run("status", "");
        assert!(!status.contains(&format!("{leader} leader")), "still the leader: {status}");
        self.strays.push(stray.stop(deposed));
        self.works(Instant::now());
    }

    fn switches_over(&mut self) {
        let leader = self.patroni.run("leader", "");
        let status = self.patroni.run("status", "");
        let candidate = status.lines().find_map(|line| line.split_once(" sync_standby"));
        let candidate = candidate.unwrap_or_else(|| panic!("no standby: {status}")).0.to_owned();
        let event = |patroni: &Patroni| drop(patroni.run("switchover", &candidate));
        self.happens("switchover", event, &leader);
        self.patroni.run("wait-whole", "");
    }

    /// Restarts the replicas, then the leader.
    fn restarts_all(&mut self) {
        let leader = self.patroni.run("leader", "");
        let replicas = ["n1", "n2", "n3"].into_iter().filter(|node| *node != leader);
        for node in replicas.chain([leader.as_str()]) {
            let what =
                if node == leader { "restart of the leader" } else { "restart of a replica" };
            self.happens(what, |patroni| drop(patroni.run("restart", node)), "");
            self.patroni.run("wait-whole", "");
        }
    }

    /// Asserts that no acknowledged animal is lost or doubled, that only a thawed node missed one, and that no call
    /// took too long.
    fn ends(self) {
        let Self { patroni, mut services, mut strays, thawed } = self;
        for Service { by, load, .. } in &mut services {
            load.stop();
            is_behind_only(by, load.journal(), thawed);
            for (kind, longest) in load.journal().longest() {
                hold(&format!("longest {kind:?} by {by}"), longest, deadline(kind));
            }
            strays.push(Arc::clone(load.journal()));
        }
        Journal::merged(&strays).is_settled_by("cluster", &services[0].server.client());
        drop((services, patroni));
    }
}

/// Asserts that only reads in the period `thawed` missed acknowledged animals. Without a watchdog, a thawed node
/// answers reads from its old data until its Patroni reacts.
#[track_caller]
fn is_behind_only(by: &str, journal: &Journal, thawed: Option<(Instant, Instant)>) {
    let entries = journal.entries();
    let missed: Vec<_> = entries.iter().filter(|entry| entry.status == 404).collect();
    let is_excused = |entry: &&&Entry| {
        thawed.is_some_and(|(from, until)| entry.ended >= from && entry.began <= until)
    };
    assert!(missed.iter().all(|entry| is_excused(&entry)), "reads missed animals: {missed:?}");
    if let (Some(first), Some(last)) = (missed.first(), missed.last()) {
        let lasted = last.ended - first.began;
        petstore_testing::say(&format!(
            "cluster: freeze the leader: {} reads by {by} missed an animal within {lasted:.1?}",
            missed.len()
        ));
    }
}

#[needs(cluster, quiet)]
#[test]
fn acknowledged_animals_outlast_the_loss_of_a_leader() {
    let Some(patroni) = Patroni::or_skip(is_long()) else { return };
    let mut trial = Trial::start(patroni);
    trial.loses_its_leader("kill", "revive");
    if is_long() {
        trial.loses_its_leader("freeze", "thaw");
        trial.loses_its_leader("cut", "heal");
        trial.switches_over();
        trial.restarts_all();
    }
    trial.ends();
}
