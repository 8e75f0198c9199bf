//! A request of a workload, and the form of a correct response.

use std::fmt::Write as _;

/// The API key of the measured service.
pub(crate) const KEY: &str = "the-key-of-the-benchmark";

/// The name of the header with the idempotency key of an addition.
pub(crate) const KEY_HEADER: &str = "Idempotency-Key";
/// The placeholder for an idempotency key. Each request is sent with a new key of the same length instead.
pub(crate) const KEY_MARK: &str = "@@@@@@@@@@@@@@@@";

/// A request, and the form of a correct response.
#[derive(Clone, Debug)]
pub(crate) struct Request {
    pub(crate) method: &'static str,
    pub(crate) path: String,
    pub(crate) headers: Vec<(&'static str, String)>,
    pub(crate) body: String,
    pub(crate) expect: Expect,
}

/// The form of a correct response.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Expect {
    /// 200 with an array of 1 to this number of animals. If there is a next page, exactly this number.
    Page(usize),
    /// 200 with one animal.
    Pet,
    /// 200 with an array of animals, compressed by gzip.
    Compressed,
    /// 201 with the animal and its location.
    Created,
    /// 304 without a body.
    Unchanged,
}

impl Request {
    /// Creates a GET of `path` with the API key.
    pub(crate) fn get(path: impl Into<String>, expect: Expect) -> Self {
        let headers = vec![("Authorization", format!("Bearer {KEY}"))];
        Self { method: "GET", path: path.into(), headers, body: String::new(), expect }
    }

    /// Creates a POST of the new animal `body`.
    pub(crate) fn create(body: String) -> Self {
        let mut request = Self::get("/v1/pets", Expect::Created);
        request.headers.push(("Content-Type", "application/json".to_owned()));
        Self { method: "POST", body, ..request }
    }

    /// Adds a header.
    pub(crate) fn with_header(mut self, name: &'static str, value: String) -> Self {
        self.headers.push((name, value));
        self
    }

    /// Formats the request as HTTP/1.1.
    pub(crate) fn to_http1(&self) -> String {
        let Self { method, path, headers, body, expect: _ } = self;
        let mut head = format!("{method} {path} HTTP/1.1\r\nHost: localhost\r\n");
        for (name, value) in headers {
            head.extend([name, ": ", value, "\r\n"]);
        }
        if !body.is_empty() {
            let _ = write!(head, "Content-Length: {}\r\n", body.len());
        }
        head.extend(["\r\n", body]);
        head
    }
}
