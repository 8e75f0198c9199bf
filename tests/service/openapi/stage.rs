//! Servers in every state that an answer may need.

use rusqlite::Connection;

use super::document::Document;
use crate::support::{
    answer::Answer,
    catalogue::pet,
    client::{Call, Client},
    server::{Launch, Server},
    store::Store,
    wait,
};

/// How long the hasty server waits. In its answers it stands where `10s` stands elsewhere.
pub(super) const TIMEOUT: &str = "250ms";

/// The key of the first animal that was added with one.
pub(super) const USED_KEY: &str = "used";

pub(super) struct Stage {
    pub(super) document: Document,
    /// Without flags, on a store that holds the two animals of the document's examples.
    pub(super) calm: Server,
    /// How these two were added.
    pub(super) added: [Answer; 2],
    /// Waits for heads and bodies no longer than [`TIMEOUT`].
    pub(super) hasty: Server,
    /// getPet has ended.
    pub(super) late: Server,
    /// The keys of its store cannot be read.
    pub(super) unreadable: Vandalised,
    /// The keys of its store break a rule.
    pub(super) corrupt: Vandalised,
    /// Answers one request a second for each key.
    pub(super) limited: Server,
    /// It has a key that may only read.
    reading: (Server, String),
    _stores: [Store; 5],
}

impl Stage {
    #[track_caller]
    pub(super) fn set() -> Self {
        let [a, b, c, d] = [(); 4].map(|()| Store::memory());
        let stores = [a, b, c, d, Store::sqlite()];
        let key = stores[4].keys(&["create", "report", "--read-only"]).succeeds();
        let reading = (Launch::on(&stores[4]).start(), key.trim_end().to_owned());
        let calm = Launch::on(&stores[0]).start();
        let hasty = Launch::on(&stores[1]).flag("--header-timeout", TIMEOUT);
        let late = Launch::on(&stores[2]).flag("--get-pet-sunset", "now");
        let limited = Launch::on(&stores[3]).flag("--rate-limit", "1");
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
            hasty: hasty.flag("--body-timeout", TIMEOUT).start(),
            late: late.start(),
            limited: limited.start(),
            unreadable: Vandalised::by("ALTER TABLE api_key RENAME TO gone"),
            corrupt: Vandalised::by(
                "UPDATE pet SET name = '' WHERE id = 1; DELETE FROM pet WHERE id = 2;
                 CREATE UNIQUE INDEX one_of_a_category ON pet (category_id)",
            ),
            reading,
            _stores: stores,
        }
    }

    /// The answer to a call that comes too soon after others.
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

    /// The answer to a call with a key that may only read.
    #[track_caller]
    pub(super) fn reading(&self, call: impl Fn(&Client) -> Call) -> Answer {
        let (server, key) = &self.reading;
        call(&server.client()).key(key).send()
    }

    pub(super) fn client(&self) -> Client {
        self.calm.client()
    }
}

/// A server whose store has two animals and was damaged by another program: a SQLite file. What
/// other stores do when they fail, and what each failure becomes, is tested where it is written.
pub(super) struct Vandalised {
    server: Server,
    key: String,
    _store: Store,
}

impl Vandalised {
    #[track_caller]
    fn by(sql: &str) -> Self {
        let store = Store::sqlite();
        let key = store.new_key("web");
        let server = Launch::without_key(&store).start();
        for n in ["1", "2"] {
            repeatable(&server.client(), n).key(&key).send().is(201);
        }
        let vandal = Connection::open(store.file()).unwrap();
        vandal.busy_timeout(wait::LIMIT).unwrap();
        vandal.pragma_update(None, "ignore_check_constraints", true).unwrap();
        vandal.execute_batch(sql).unwrap();
        Self { server, key, _store: store }
    }

    /// The answer once the server has noticed, which takes it up to a second.
    #[track_caller]
    pub(super) fn answer(&self, call: impl Fn(&Client) -> Call) -> Answer {
        let ask = || call(&self.server.client()).key(&self.key).send();
        wait::until("the server reads its store again", || ask().status >= 500);
        ask()
    }
}

/// An addition with the idempotency key `n`.
pub(super) fn repeatable(client: &Client, n: &str) -> Call {
    client.add(&pet("Max")).header("idempotency-key", n)
}
