//! API keys that are made, rolled and revoked during a move.

use petstore_testing::needs;

use super::{
    commands::{follow, step, until_caught_up},
    load::Load,
    populated::populate,
};
use crate::support::{
    additions::everything_is_there,
    client::Client,
    server::{Launch, Server},
    store::Store,
    wait,
};

#[derive(Default)]
struct Keys {
    /// With their names.
    good: Vec<(String, String)>,
    revoked: Vec<String>,
    /// So many of the revoked ones were refused by every service.
    refused: usize,
}

impl Keys {
    /// Changes every kind of thing about keys on the store that decides.
    #[track_caller]
    fn change(&mut self, decides: &Store, number: usize) {
        let mut make = |name: &str| {
            let name = format!("{name}-{number}");
            self.good.push((name.clone(), decides.new_key(&name)));
        };
        for name in ["made", "rolled", "revoked"] {
            make(name);
        }
        let rolled = format!("rolled-{number}");
        let new = decides.keys(&["roll", &rolled, "--overlap", "24h"]).succeeds();
        self.good.push((rolled, new.trim_end().to_owned()));
        self.revoke(decides, &format!("revoked-{number}"));
        if let Some(earlier) = number.checked_sub(1) {
            self.revoke(decides, &format!("made-{earlier}"));
        }
    }

    #[track_caller]
    fn revoke(&mut self, decides: &Store, name: &str) {
        decides.keys(&["revoke", name]).succeeds();
        let revoked = self.good.extract_if(.., |(good, _)| good == name);
        self.revoked.extend(revoked.map(|(_, key)| key));
    }

    /// Waits until every service knows all of it. What one has refused before, none accepts again.
    #[track_caller]
    fn are_known(&mut self, clients: &[Client]) {
        let all = |keys: &[String], status| {
            keys.iter().all(|key| clients.iter().all(|client| answer(client, key) == status))
        };
        assert!(all(&self.revoked[..self.refused], 401), "a key is good again");
        let good: Vec<String> = self.good.iter().map(|(_, key)| key.clone()).collect();
        wait::until("every key is good", || all(&good, 200));
        wait::until("every revoked key is refused", || all(&self.revoked, 401));
        self.refused = self.revoked.len();
    }
}

fn answer(client: &Client, key: &str) -> u16 {
    client.get("/v1/pets?limit=1").key(key).send().status
}

#[needs(postgres)]
#[test]
fn keys_that_change_during_a_move_mean_the_same_on_both_stores() {
    let Some(to) = Store::postgres() else { return };
    let from = Store::sqlite();
    let mut additions = populate(&from, 500);
    let mut keys = Keys::default();
    keys.change(&from, 0);
    let _follower = follow(&from, &to);
    until_caught_up(&from, &to);
    let servers = [&from, &to].map(|store| Launch::on(store).start());
    let clients = servers.each_ref().map(Server::client);
    let load = Load::start("y", &clients);
    let flips = [("flip", &from), ("back", &to), ("flip", &from)];
    for (number, (name, decides)) in flips.into_iter().enumerate() {
        // Right before the flip, which must take them over.
        keys.change(decides, number + 1);
        step(&from, &to, name).succeeds();
        keys.are_known(&clients);
    }
    keys.change(&to, 4);
    step(&from, &to, "finish").succeeds();
    keys.are_known(&clients);
    additions.extend(load.end());
    drop(servers);
    let server = Launch::on(&to).start();
    keys.are_known(&[server.client()]);
    everything_is_there(&server.client(), &additions);
}
