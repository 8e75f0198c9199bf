//! Requests and console messages of the browser.

use serde_json::Value;

use super::browser::Browser;

/// A request of a page.
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

    /// Returns a header that the page set. `name` must have the letter case that the page used.
    pub(crate) fn header(&self, name: &str) -> &str {
        self.headers[name].as_str().unwrap_or_default()
    }

    /// Returns whether the request used the network. `data:` and `blob:` URLs do not.
    pub(crate) fn went_out(&self) -> bool {
        !self.url.starts_with("data:") && !self.url.starts_with("blob:")
    }
}

impl Browser {
    /// Returns the requests since the last call.
    pub(crate) fn requests(&self) -> Vec<Request> {
        let log = self.ask(self.driver().get_log("performance"));
        let events = log.iter().map(|entry| serde_json::from_str::<Value>(&entry.message).unwrap());
        let sent = events.filter(|event| event["message"]["method"] == "Network.requestWillBeSent");
        sent.map(|event| Request::of(&event["message"]["params"]["request"])).collect()
    }

    /// Returns the warnings and errors on the console since the last call, including violations of the policy.
    pub(crate) fn complaints(&self) -> Vec<String> {
        let log = self.ask(self.driver().get_log("browser"));
        let bad = log.iter().filter(|entry| ["SEVERE", "WARNING"].contains(&entry.level.as_str()));
        bad.map(|entry| entry.message.clone()).collect()
    }
}
