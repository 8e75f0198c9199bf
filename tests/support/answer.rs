//! A response, received by any of the clients.

use std::fmt;

use serde_json::Value;

/// A whole response.
#[derive(Clone)]
pub(crate) struct Answer {
    pub(crate) status: u16,
    /// Names in lower case, in the order of arrival.
    pub(crate) headers: Vec<(String, String)>,
    pub(crate) body: Vec<u8>,
}

impl Answer {
    /// Returns every value of a header.
    pub(crate) fn all(&self, name: &str) -> Vec<&str> {
        let named = self.headers.iter().filter(|(header, _)| header == name);
        named.map(|(_, value)| value.as_str()).collect()
    }

    /// Returns the value of a header that comes at most once.
    #[track_caller]
    pub(crate) fn header(&self, name: &str) -> Option<&str> {
        let values = self.all(name);
        assert!(values.len() <= 1, "{name} comes more than once: {self:?}");
        values.first().copied()
    }

    /// Returns the value of a header that comes exactly once.
    #[track_caller]
    pub(crate) fn must(&self, name: &str) -> &str {
        self.header(name).unwrap_or_else(|| panic!("{name} is missing: {self:?}"))
    }

    /// Returns the body as text.
    #[track_caller]
    pub(crate) fn text(&self) -> &str {
        std::str::from_utf8(&self.body).expect("a body in UTF-8")
    }

    /// Parses the body as JSON.
    #[track_caller]
    pub(crate) fn json(&self) -> Value {
        serde_json::from_slice(&self.body).unwrap_or_else(|error| panic!("{error}: {self:?}"))
    }

    /// Asserts that the answer has this status.
    #[track_caller]
    pub(crate) fn is(self, status: u16) -> Self {
        assert_eq!(self.status, status, "{self:?}");
        self
    }

    /// Asserts that the answer is an error with this status and code.
    #[track_caller]
    pub(crate) fn refuses(self, status: u16, code: &str) -> Self {
        assert_eq!(self.status, status, "{code} expected: {self:?}");
        assert_eq!(self.json()["code"], code, "{self:?}");
        self
    }

    /// Returns the target of the link with this relation.
    pub(crate) fn link(&self, rel: &str) -> Option<String> {
        let suffix = format!(">; rel=\"{rel}\"");
        let links = self.all("link").into_iter().flat_map(|value| value.split(", "));
        links
            .filter_map(|link| link.strip_prefix('<')?.strip_suffix(suffix.as_str()))
            .map(str::to_owned)
            .next()
    }

    /// Returns the headers that are equal for two equal requests, without the date and the request identifiers.
    pub(crate) fn lasting_headers(&self) -> Vec<(String, String)> {
        let passing = ["date", "x-request-id", "traceresponse"];
        let mut headers = self.headers.clone();
        headers.retain(|(name, _)| !passing.contains(&name.as_str()));
        headers.sort();
        headers
    }
}

impl fmt::Debug for Answer {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        writeln!(f, "{}", self.status)?;
        for (name, value) in &self.headers {
            writeln!(f, "  {name}: {value}")?;
        }
        let body = String::from_utf8_lossy(&self.body);
        let start: String = body.chars().take(600).collect();
        write!(f, "  {start} ({} bytes)", self.body.len())
    }
}
