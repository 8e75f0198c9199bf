//! Messages and requests of the browser.

use serde_json::Value;

use super::browser::Browser;

/// A request that a page made.
#[derive(Debug)]
pub(crate) struct Request {
    pub(crate) method: String,
    pub(crate) url: String,
    headers: Value,
}

impl Request {
    fn of(event: &Value) -> Self {
        let text = |name: &str| event[name].as_str().unwrap_or_default().to_owned();
        let headers = event["headers"].clone();
        Self { method: text("method"), url: text("url"), headers }
    }

    /// A header that the page set, by its name in the page's own letter case.
    pub(crate) fn header(&self, name: &str) -> &str {
        self.headers[name].as_str().unwrap_or_default()
    }

    /// Returns whether it went out to the network; `data:` is an address without a host.
    pub(crate) fn went_out(&self) -> bool {
        !self.url.starts_with("data:") && !self.url.starts_with("blob:")
    }
}

impl Browser {
    /// The requests since this was last asked.
    pub(crate) fn requests(&self) -> Vec<Request> {
        let log = self.ask(self.driver().get_log("performance"));
        let events = log.iter().map(|entry| serde_json::from_str::<Value>(&entry.message).unwrap());
        let sent = events.filter(|event| event["message"]["method"] == "Network.requestWillBeSent");
        sent.map(|event| Request::of(&event["message"]["params"]["request"])).collect()
    }

    /// The warnings and errors on the console since this was last asked, broken policies included.
    pub(crate) fn complaints(&self) -> Vec<String> {
        let log = self.ask(self.driver().get_log("browser"));
        let bad = log.iter().filter(|entry| ["SEVERE", "WARNING"].contains(&entry.level.as_str()));
        bad.map(|entry| entry.message.clone()).collect()
    }
}
