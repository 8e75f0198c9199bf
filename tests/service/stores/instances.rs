//! Two instances on one store behave as one service.

use std::{
    thread,
    time::{Duration, Instant},
};

use crate::support::{
    catalogue::{add, pet, pets},
    client::Client,
    server::{Launch, Server},
    store::{Kind, Store, on_stores},
    wait,
};

on_stores! {
    lasting:
    a_revoked_key_is_refused_on_both,
    #[petstore_testing::needs(quiet)]
    a_revoked_key_is_refused_on_both_within_a_second,
    a_tag_of_one_is_known_on_the_other_until_somebody_adds,
    #[petstore_testing::needs(quiet)]
    an_addition_shows_on_the_other_within_100_ms,
}

fn start(kind: Kind) -> (Store, [Server; 2]) {
    let store = Store::new(kind);
    let servers = [(); 2].map(|()| Launch::on(&store).start());
    (store, servers)
}

fn tag(client: &Client, target: &str) -> String {
    client.get(target).send().is(200).must("etag").to_owned()
}

fn a_revoked_key_is_refused_on_both(kind: Kind) {
    refuse_a_revoked_key(kind, wait::LIMIT);
}

fn a_revoked_key_is_refused_on_both_within_a_second(kind: Kind) {
    refuse_a_revoked_key(kind, Duration::from_secs(1));
}

fn refuse_a_revoked_key(kind: Kind, limit: Duration) {
    let (store, servers) = start(kind);
    let clients = servers.each_ref().map(Server::client);
    let key = store.new_key("partner");
    let status = |client: &Client| client.get("/v1/pets").key(&key).send().status;
    // Both instances have used the key, so both have it in memory.
    for client in &clients {
        wait::until("the key is known", || status(client) == 200);
    }
    store.keys(&["revoke", "partner"]).succeeds();
    thread::scope(|scope| {
        for client in &clients {
            scope.spawn(|| {
                wait::within(limit, "the key is refused", || status(client) == 401);
                assert_eq!(status(client), 401);
            });
        }
    });
}

fn a_tag_of_one_is_known_on_the_other_until_somebody_adds(kind: Kind) {
    additions_show_on_the_other(kind);
}

/// Asserts a bound on the median, because each time includes the wait for the next poll of the other instance.
fn an_addition_shows_on_the_other_within_100_ms(kind: Kind) {
    let mut times = additions_show_on_the_other(kind);
    times.sort_unstable();
    assert!(times[times.len() / 2] <= Duration::from_millis(100), "{times:.1?}");
}

/// Adds animals on each instance in turn. Returns the time until each addition shows on the other instance.
fn additions_show_on_the_other(kind: Kind) -> Vec<Duration> {
    let (_store, servers) = start(kind);
    let clients = servers.each_ref().map(Server::client);
    let show = |round: usize| {
        let (one, other) = (&clients[round % 2], &clients[(round + 1) % 2]);
        for target in ["/v1/pets", "/v1/pets?limit=100&status=sold"] {
            let tag = tag(one, target);
            other.get(target).header("if-none-match", &tag).send().is(304);
        }
        let before = tag(other, "/v1/pets?limit=100");
        let added = add(one, &pet(&format!("round {round}")));
        let acknowledged = Instant::now();
        let again = || other.get("/v1/pets?limit=100").header("if-none-match", &before).send();
        let mut page = again();
        while page.status == 304 && acknowledged.elapsed() < wait::LIMIT {
            page = again();
        }
        let took = acknowledged.elapsed();
        assert_eq!(pets(&page).last(), Some(&added));
        took
    };
    (0..20).map(show).collect()
}
