//! One request of a workload, and what a right answer to it looks like.

use std::fmt::Write as _;

/// The API key that the service under measurement accepts.
pub(crate) const KEY: &str = "the-key-of-the-benchmark";

/// The header of an addition with an idempotency key.
pub(crate) const KEY_HEADER: &str = "Idempotency-Key";
/// The value that stands for a key of which each request gets its own, as long as this.
pub(crate) const KEY_MARK: &str = "@@@@@@@@@@@@@@@@";

/// A request, and what is expected of its answer.
#[derive(Clone, Debug)]
pub(crate) struct Request {
    pub(crate) method: &'static str,
    pub(crate) path: String,
    pub(crate) headers: Vec<(&'static str, String)>,
    pub(crate) body: String,
    pub(crate) expect: Expect,
}

/// The form of a right answer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Expect {
    /// 200 with an array of at most so many animals; of exactly so many if there is a next page.
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
    /// A GET of `path`, with the API key of the benchmark.
    pub(crate) fn get(path: impl Into<String>, expect: Expect) -> Self {
        let headers = vec![("Authorization", format!("Bearer {KEY}"))];
        Self { method: "GET", path: path.into(), headers, body: String::new(), expect }
    }

    /// A POST of the new animal `body`.
    pub(crate) fn create(body: String) -> Self {
        let mut request = Self::get("/v1/pets", Expect::Created);
        request.headers.push(("Content-Type", "application/json".to_owned()));
        Self { method: "POST", body, ..request }
    }

    /// The same with one more header.
    pub(crate) fn with_header(mut self, name: &'static str, value: String) -> Self {
        self.headers.push((name, value));
        self
    }

    /// The request as bytes of HTTP/1.1.
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

#[cfg(test)]
mod tests {
    use super::{Expect, KEY, Request};

    #[test]
    fn a_request_is_written_as_http1() {
        let get = Request::get("/v1/pets", Expect::Page(20));
        let bytes = format!(
            "GET /v1/pets HTTP/1.1\r\nHost: localhost\r\nAuthorization: Bearer {KEY}\r\n\
             If-None-Match: x\r\n\r\n"
        );
        assert_eq!(get.with_header("If-None-Match", "x".into()).to_http1(), bytes);
        let post = Request::create("{}".to_owned()).to_http1();
        assert!(post.starts_with("POST ") && post.ends_with("Content-Length: 2\r\n\r\n{}"));
    }
}
