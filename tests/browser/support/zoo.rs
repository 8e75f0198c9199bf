//! A service with a browser in front of it.

use serde_json::{Value, json};

use super::{
    KEY,
    browser::Browser,
    catalogue::{self, STATUSES},
    client::Client,
    server::{Launch, Server},
    store::Store,
};

/// Both, for one test.
pub(crate) struct Zoo {
    pub(crate) browser: Browser,
    pub(crate) server: Server,
    pub(crate) store: Store,
}

impl Zoo {
    /// A service in memory; `None` without Chromium.
    #[track_caller]
    pub(crate) fn open_or_skip() -> Option<Self> {
        Self::on_or_skip(Store::memory())
    }

    /// A service on `store`; `None` without Chromium.
    #[track_caller]
    pub(crate) fn on_or_skip(store: Store) -> Option<Self> {
        let browser = Browser::open_or_skip()?;
        let server = Launch::on(&store).start();
        Some(Self { browser, server, store })
    }

    pub(crate) fn client(&self) -> Client {
        self.server.client()
    }

    /// The address of a page.
    pub(crate) fn page(&self, path: &str) -> String {
        format!("{}{path}", self.server.url())
    }

    /// Adds animals called `pet 1`, `pet 2` and so on; every fourth has no status, and the others
    /// take turns.
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

    /// Every animal that the service has.
    pub(crate) fn everything(&self) -> Vec<Value> {
        catalogue::everything(&self.client())
    }

    /// Opens `/catalogue`, with a query if there is one behind the path, and enters the key.
    #[track_caller]
    pub(crate) fn enter(&self, path: &str) -> &Browser {
        self.browser.go(&self.page(path));
        self.enter_key()
    }

    /// Enters the key where `/catalogue` asks for it.
    #[track_caller]
    pub(crate) fn enter_key(&self) -> &Browser {
        self.browser.fill("#key", KEY);
        self.browser.click("#key-send");
        self.browser.see("#catalogue");
        self.browser.until("animals.ariaBusy === 'false'");
        &self.browser
    }
}
