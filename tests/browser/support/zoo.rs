//! A service and a browser that shows its pages.

use std::fmt::Write as _;

use serde_json::{Value, json};
use thirtyfour::Key;

use super::{
    KEY,
    browser::Browser,
    catalogue::{self, STATUSES},
    client::Client,
    command::petstore,
    server::{Launch, Server},
    store::Store,
    wait,
};

/// A service, its store and a browser for one test.
pub(crate) struct Zoo {
    pub(crate) browser: Browser,
    pub(crate) server: Server,
    pub(crate) store: Store,
}

impl Zoo {
    /// Starts a service on a store in memory.
    #[track_caller]
    pub(crate) fn open() -> Self {
        Self::on(Store::memory())
    }

    /// Starts a service in memory with `animals` animals; see `stock`.
    #[track_caller]
    pub(crate) fn with(animals: usize) -> Self {
        let zoo = Self::open();
        zoo.stock(animals);
        zoo
    }

    /// Starts a service on `store`.
    #[track_caller]
    pub(crate) fn on(store: Store) -> Self {
        let server = Launch::on(&store).start();
        Self { browser: Browser::open(), server, store }
    }

    pub(crate) fn client(&self) -> Client {
        self.server.client()
    }

    /// Returns the URL of a page.
    pub(crate) fn page(&self, path: &str) -> String {
        format!("{}{path}", self.server.url())
    }

    /// Adds animals called `pet 1`, `pet 2` and so on. Every fourth animal has no status; the others have each status
    /// in turn.
    #[track_caller]
    pub(crate) fn stock(&self, count: usize) {
        let client = self.client();
        for number in 1..=count {
            let mut pet = catalogue::pet(&format!("pet {number}"));
            if let Some(status) = STATUSES.get(number % 4) {
                pet["status"] = json!(status);
            }
            catalogue::add(&client, &pet);
        }
    }

    /// Returns every animal of the service.
    pub(crate) fn everything(&self) -> Vec<Value> {
        catalogue::everything(&self.client())
    }

    /// Opens a page with a key, or without one if `key` is empty. The storage of the tab contains nothing else.
    #[track_caller]
    pub(crate) fn visit(&self, path: &str, key: &str) -> &Browser {
        if !self.browser.url().starts_with(&self.page("/")) {
            self.browser.go(&self.page("/livez"));
        }
        self.browser.js("sessionStorage.clear()");
        if !key.is_empty() {
            self.browser.js(&format!("sessionStorage.setItem('petstore.key', '{key}')"));
        }
        self.browser.go(&self.page(path));
        self.browser.see("#main");
        &self.browser
    }

    /// Opens `/catalogue`, perhaps with a query, with the key of the suite, and waits for the list.
    #[track_caller]
    pub(crate) fn enter(&self, path: &str) -> &Browser {
        self.enter_with(path, KEY)
    }

    /// Opens `/catalogue` with another key, and waits for the list.
    #[track_caller]
    pub(crate) fn enter_with(&self, path: &str, key: &str) -> &Browser {
        self.visit(path, key).see("#catalogue");
        self.browser.until("animals.ariaBusy === 'false'");
        &self.browser
    }

    /// Enters a key into the form of a page.
    pub(crate) fn enter_key(&self, key: &str) -> &Browser {
        self.browser.fill("#key", key);
        self.browser.press(Key::Enter);
        &self.browser
    }

    /// Creates a key, and waits until the server accepts it.
    #[track_caller]
    pub(crate) fn new_key(&self, arguments: &[&str]) -> String {
        let made = self.store.keys(&[&["create"], arguments].concat()).succeeds();
        let key = made.split_whitespace().find(|word| word.starts_with("ps")).unwrap();
        self.until_key_is(key, 200);
        key.to_owned()
    }

    /// Revokes a key by its name, and waits until the server refuses it.
    #[track_caller]
    pub(crate) fn revoke(&self, name: &str, key: &str) {
        self.store.keys(&["revoke", name]).succeeds();
        self.until_key_is(key, 401);
    }

    /// Waits until a request with `key` gets this status. The server notices a change within a second.
    #[track_caller]
    fn until_key_is(&self, key: &str, status: u16) {
        wait::until("the server notices the change", || {
            self.client().get("/v1/pets").key(key).send().status == status
        });
    }
}

/// Returns a store of `count` animals. All are sold but the last, which has no status.
pub(crate) fn store_of(count: usize) -> Store {
    let store = Store::sqlite();
    let mut animals = String::new();
    for number in 1..=count {
        let status = if number == count { "" } else { r#","status":"sold""# };
        writeln!(animals, r#"{{"id":{number},"name":"pet {number}","categoryId":1{status}}}"#)
            .unwrap();
    }
    let file = store.write("animals.ndjson", &animals);
    petstore(&["import", "--create", &file, "--store", &store.url]).finish().succeeds();
    store
}
