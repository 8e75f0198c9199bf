//! Two instances on one database behave as one service.

use std::{
    collections::HashSet,
    thread,
    time::{Duration, Instant},
};

use petstore_testing::{Database, postgres_or_skip};

use crate::{
    support::{
        answer::Answer,
        catalogue::{add, everything, id_of, pet, pets},
        client::Client,
        server::{Launch, Server},
        store::Store,
        wait,
    },
    times::{SHORT_SLACK, hold},
};

/// Both instances, and the database under them.
struct Pair {
    one: Server,
    other: Server,
    store: Store,
    _database: Database,
}

impl Pair {
    fn start(test: &str) -> Option<Self> {
        let database = postgres_or_skip(test)?;
        let store = Store::at(&database.url);
        let [one, other] = [(); 2].map(|()| Launch::on(&store).start());
        Some(Self { one, other, store, _database: database })
    }

    fn clients(&self) -> [Client; 2] {
        [self.one.client(), self.other.client()]
    }
}

fn tag(client: &Client, target: &str) -> String {
    client.get(target).send().is(200).must("etag").to_owned()
}

#[test]
fn one_idempotency_key_on_both_is_one_animal() {
    let Some(pair) = Pair::start("the race of two instances") else { return };
    let clients = pair.clients();
    for race in 0..5 {
        let name = format!("race-{race}");
        let send = |n: usize| {
            let call = clients[n % 2].add(&pet(&name)).header("idempotency-key", &name);
            call.send().is(201)
        };
        let answers: Vec<Answer> = thread::scope(|scope| {
            let send = &send;
            let threads: Vec<_> = (0..64).map(|n| scope.spawn(move || send(n))).collect();
            threads.into_iter().map(|thread| thread.join().unwrap()).collect()
        });
        let bodies: HashSet<_> = answers.iter().map(|answer| answer.body.clone()).collect();
        assert_eq!(bodies.len(), 1, "{bodies:?}");
        let replayed = |answer: &&Answer| answer.header("idempotency-replayed").is_some();
        assert_eq!(answers.iter().filter(replayed).count(), 63);
        for client in &clients {
            let found = everything(client).into_iter().filter(|pet| pet["name"] == name.as_str());
            assert_eq!(found.count(), 1);
        }
    }
}

#[test]
fn a_key_used_for_another_animal_is_refused_on_the_other() {
    let Some(pair) = Pair::start("an idempotency key on two instances") else { return };
    let [one, other] = pair.clients();
    one.add(&pet("Rex")).header("idempotency-key", "k").send().is(201);
    let reused = other.add(&pet("Max")).header("idempotency-key", "k").send();
    reused.refuses(422, "idempotency_key_reused");
}

#[test]
fn a_revoked_key_is_refused_on_both() {
    let Some(pair) = Pair::start("revoking a key on two instances") else { return };
    let key = pair.store.new_key("partner");
    let status = |client: &Client| client.get("/v1/pets").key(&key).send().status;
    for client in pair.clients() {
        assert_eq!(status(&client), 200);
    }
    // Both go on using it, so that both have it in memory.
    pair.store.keys(&["revoke", "partner"]).succeeds();
    let revoked = Instant::now();
    thread::scope(|scope| {
        for client in pair.clients() {
            scope.spawn(move || {
                wait::until("the key is refused", || status(&client) == 401);
                let took = revoked.elapsed();
                hold("a revoked key is refused", took, Duration::from_secs(1), SHORT_SLACK);
                assert_eq!(status(&client), 401);
            });
        }
    });
}

#[test]
fn a_cursor_of_one_continues_on_the_other() {
    let Some(pair) = Pair::start("a walk over two instances") else { return };
    let clients = pair.clients();
    let added: Vec<_> =
        (0..25).map(|n| add(&clients[n % 2], &pet(&format!("walker {n}")))).collect();
    assert!(added.is_sorted_by_key(id_of), "identifiers grow over both");
    let mut walked = Vec::new();
    let mut next = Some("/v1/pets?limit=3".to_owned());
    for client in clients.iter().cycle() {
        let Some(target) = next else { break };
        let page = client.get(&target).send().is(200);
        next = page.link("next");
        walked.extend(pets(&page));
    }
    assert_eq!(walked, added);
}

#[test]
fn a_tag_of_one_is_known_on_the_other_until_somebody_adds() {
    let Some(pair) = Pair::start("entity tags on two instances") else { return };
    let clients = pair.clients();
    let mut worst = Duration::ZERO;
    for round in 0..20 {
        let (one, other) = (&clients[round % 2], &clients[(round + 1) % 2]);
        for target in ["/v1/pets", "/v1/pets?limit=100&status=sold"] {
            let tag = tag(one, target);
            other.get(target).header("if-none-match", &tag).send().is(304);
        }
        let before = tag(other, "/v1/pets?limit=100");
        let added = add(one, &pet(&format!("round {round}")));
        let acknowledged = Instant::now();
        let changed = || other.get("/v1/pets?limit=100").header("if-none-match", &before).send();
        let mut page = changed();
        while page.status == 304 {
            assert!(acknowledged.elapsed() < wait::PATIENCE, "the tag never changes");
            page = changed();
        }
        worst = acknowledged.elapsed().max(worst);
        assert_eq!(pets(&page).last(), Some(&added));
    }
    hold("an addition shows on the other", worst, Duration::from_millis(100), SHORT_SLACK);
}
