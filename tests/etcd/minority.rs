//! A node and an instance of the service are cut off from the other nodes.

use std::{thread, time::Instant};

use petstore_testing::{Etcd, Network, needs, network_or_skip};
use serde_json::Value;

use super::{NODES, nodes, store};
use crate::{
    failover::times::{CALL, KNOWN, RECOVERY, hold},
    load::journal::{Addition, Journal},
    support::{
        answer::Answer,
        catalogue::id_of,
        client::{Call, Client},
        server::Launch,
        wait,
    },
};

/// The number of times that each kind of request is sent to the instance that is cut off.
const ROUNDS: usize = 2;

/// An instance on the host of a node, and an animal and entity tags from its answers before the cut.
struct Inside {
    client: Client,
    /// An animal of the store, its entity tag, and the entity tag of the first page.
    known: Value,
    tag: String,
    page_tag: String,
}

impl Inside {
    fn knows(client: Client, known: Value) -> Self {
        let tag = |target: &str| client.get(target).send().is(200).must("etag").to_owned();
        let tag_of_pet = tag(&format!("/v1/pets/{}", id_of(&known)));
        let page_tag = tag("/v1/pets");
        Self { client, known, tag: tag_of_pet, page_tag }
    }

    /// Builds each kind of read that a cache could answer.
    fn reads(&self) -> [Call; 5] {
        let animal = format!("/v1/pets/{}", id_of(&self.known));
        let client = &self.client;
        [
            client.get("/v1/pets"),
            client.get("/v1/pets").header("if-none-match", &self.page_tag),
            client.get("/v1/pets?status=sold"),
            client.get(&animal),
            client.get(&animal).header("if-none-match", &self.tag),
        ]
    }

    /// Asserts that each request for the store gets 503 within the call timeout. The additions are in doubt afterwards.
    #[track_caller]
    fn asserts_that_every_request_fails(&self, what: &str, journal: &Journal) {
        for round in 0..ROUNDS {
            let tries = [false, true].map(|with_key| {
                Addition::new(&format!("{what} r{round} k{with_key}"), round, with_key)
            });
            let start = Instant::now();
            thread::scope(|scope| {
                for call in self.reads() {
                    scope.spawn(|| call.send().refuses(503, "unavailable"));
                }
                for addition in &tries {
                    let refused =
                        || journal.add(&self.client, addition).refuses(503, "unavailable");
                    scope.spawn(refused);
                }
            });
            hold(&format!("{what}: refusals"), start.elapsed(), CALL);
        }
        // `/readyz` may repeat its answer for a second.
        let ready = self.client.get("/readyz").anonymous();
        wait::until("the instance is not ready", || ready.clone().send().status == 503);
        self.client.get("/livez").anonymous().send().is(200);
    }
}

/// Adds an animal, with retries until an addition succeeds. Returns the animal of the answer.
#[track_caller]
fn adds(client: &Client, name: &str, journal: &Journal) -> Value {
    let addition = Addition::new(name, 3, true);
    in_time(name, || journal.add(client, &addition)).is(201).json()
}

/// Repeats a request until its answer is not 503. Asserts that this takes [`RECOVERY`] at most.
#[track_caller]
fn in_time(what: &str, send: impl Fn() -> Answer) -> Answer {
    let mut last = None;
    let took = wait::until(what, || {
        let answer = last.insert(send());
        answer.status != 503
    });
    hold(what, took, RECOVERY);
    last.unwrap()
}

#[track_caller]
fn is_not_deceived(what: &str, network: &Network, etcd: &Etcd, cut_off: usize) {
    let store = store(etcd, "zoo");
    let (journal, outside) = (Journal::new(), Launch::on(&store).start());
    let server = Launch::inside(network, cut_off, &store).start();
    let known = adds(&server.client(), &format!("{what}: before"), &journal);
    let inside = Inside::knows(server.client(), known);

    network.cut_from_others(cut_off).unwrap();
    // The instance may answer from its cache until `KNOWN` has passed.
    thread::sleep(KNOWN);
    inside.asserts_that_every_request_fails(what, &journal);
    let meanwhile = adds(&outside.client(), &format!("{what}: meanwhile"), &journal);
    inside.asserts_that_every_request_fails(&format!("{what} still"), &journal);

    network.heal_from_others(cut_off).unwrap();
    let call = inside.client.get(&format!("/v1/pets/{}", id_of(&meanwhile)));
    let found = in_time(&format!("{what}: healed"), || call.clone().send());
    assert_eq!(found.is(200).json(), meanwhile);
    inside.client.get("/v1/pets").header("if-none-match", &inside.page_tag).send().is(200);
    for addition in journal.keyed() {
        let again = || journal.add(&inside.client, &addition);
        in_time(&format!("{what}: sent again"), again).is(201);
    }
    for client in [&inside.client, &outside.client()] {
        journal.is_kept_by(client);
    }
}

fn minority(what: &str, is_leader: bool) {
    let Some(network) = network_or_skip(NODES) else { return };
    let etcd = nodes(Some(&network));
    let leader = etcd.wait_for_leader(None).unwrap();
    let cut_off = if is_leader { leader } else { (leader + 1) % NODES };
    is_not_deceived(what, &network, &etcd, cut_off);
}

#[needs(etcd, ip, quiet)]
#[test]
fn an_instance_cut_off_with_one_node_answers_no_old_page() {
    minority("cut off with a follower", false);
}

/// The node considers itself the leader for a while.
#[needs(etcd, ip, quiet)]
#[test]
fn an_instance_cut_off_with_the_leader_answers_no_old_page() {
    minority("cut off with the leader", true);
}
