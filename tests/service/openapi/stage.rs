//! Servers in every state that leads to a documented answer.

use super::document::Document;
use crate::support::{
    answer::Answer,
    catalogue::pet,
    client::{Call, Client},
    server::{Launch, Server},
    store::Store,
    wait,
};

/// The timeouts of the hasty server. Its answers have this text where the examples have `10s`.
pub(super) const TIMEOUT: &str = "250ms";

/// The idempotency key of each animal begins with this text.
pub(super) const USED_KEY: &str = "used";

pub(super) struct Stage {
    pub(super) document: Document,
    /// A server without flags, on a store with the two animals of the examples.
    pub(super) calm: Server,
    /// The answers to the additions of these animals.
    pub(super) added: [Answer; 2],
    /// A server that waits for heads and bodies no longer than [`TIMEOUT`].
    pub(super) hasty: Server,
    /// A server on which getPet is removed.
    pub(super) late: Server,
    /// A server whose store cannot read its keys.
    pub(super) unreadable: Damaged,
    /// A server whose store has rows that break a rule.
    pub(super) corrupt: Damaged,
    /// A server that answers one request per second for each key.
    pub(super) limited: Server,
    /// A server, and a read-only key of its store.
    reading: (Server, String),
    _store: Store,
}

impl Stage {
    #[track_caller]
    pub(super) fn set() -> Self {
        let in_memory = |flags: &[(&str, &str)]| Launch::on(&Store::memory()).flags(flags).start();
        let store = Store::sqlite();
        let key = store.keys(&["create", "report", "--read-only"]).succeeds();
        let reading = (Launch::on(&store).start(), key.trim_end().to_owned());
        let calm = Server::in_memory();
        let client = calm.client();
        let document = Document::of(&client);
        let added = ["with-status", "without-status"].map(|example| {
            let place = "/paths/~1pets/post/requestBody/content/application~1json/examples";
            let pet = document.at(&format!("{place}/{example}"))["value"].clone();
            client.add(&pet).header("idempotency-key", format!("{USED_KEY}-{example}")).send()
        });
        Self {
            document,
            calm,
            added,
            hasty: in_memory(&[("--header-timeout", TIMEOUT), ("--body-timeout", TIMEOUT)]),
            late: in_memory(&[("--get-pet-sunset", "now")]),
            limited: in_memory(&[("--rate-limit", "1")]),
            unreadable: Damaged::by("ALTER TABLE api_key RENAME TO gone"),
            corrupt: Damaged::by(
                "UPDATE pet SET name = '' WHERE id = 1; DELETE FROM pet WHERE id = 2;
                 CREATE UNIQUE INDEX one_of_a_category ON pet (category_id)",
            ),
            reading,
            _store: store,
        }
    }

    /// Returns the answer to a call over the rate limit.
    #[track_caller]
    pub(super) fn too_fast(&self, call: impl Fn(&Client) -> Call) -> Answer {
        let mut answer = None;
        wait::until("the rate is exceeded", || {
            let is_limited = |answer: &Answer| answer.status == 429;
            answer = Some(call(&self.limited.client()).send()).filter(is_limited);
            answer.is_some()
        });
        answer.unwrap()
    }

    /// Returns the answer to a call with the read-only key.
    #[track_caller]
    pub(super) fn reading(&self, call: impl Fn(&Client) -> Call) -> Answer {
        let (server, key) = &self.reading;
        call(&server.client()).key(key).send()
    }

    pub(super) fn client(&self) -> Client {
        self.calm.client()
    }
}

/// A server on a SQLite file with two animals. Another program has damaged the file. The tests of the other stores
/// cover the failures of those stores.
pub(super) struct Damaged {
    server: Server,
    key: String,
    _store: Store,
}

impl Damaged {
    #[track_caller]
    fn by(sql: &str) -> Self {
        let store = Store::sqlite();
        let key = store.new_key("web");
        let server = Launch::without_key(&store).start();
        for n in ["1", "2"] {
            repeatable(&server.client(), n).key(&key).send().is(201);
        }
        store.damage(sql);
        Self { server, key, _store: store }
    }

    /// Returns the answer once the server has noticed the damage, which takes up to a second.
    #[track_caller]
    pub(super) fn answer(&self, call: impl Fn(&Client) -> Call) -> Answer {
        let ask = || call(&self.server.client()).key(&self.key).send();
        wait::until("the server reads its store again", || ask().status >= 500);
        ask()
    }
}

/// Returns an addition with the idempotency key `n`.
pub(super) fn repeatable(client: &Client, n: &str) -> Call {
    client.add(&pet("Max")).header("idempotency-key", n)
}
