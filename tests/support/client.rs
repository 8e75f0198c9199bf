//! A client for well-formed requests, over HTTP/1.1 or HTTP/2. It checks every answer against [`rules`].

use std::{sync::LazyLock, time::Duration};

use reqwest::{
    Method,
    blocking::{Client as Http, ClientBuilder, RequestBuilder},
    header::{AUTHORIZATION, CONTENT_TYPE, HeaderMap, HeaderName, HeaderValue},
    redirect::Policy,
};
use serde_json::Value;

use super::{
    KEY,
    answer::Answer,
    rules::{self, Sent},
    wait,
};

static HTTP1: LazyLock<Http> = LazyLock::new(|| builder().http1_only().build().unwrap());
static HTTP2: LazyLock<Http> = LazyLock::new(|| builder().http2_prior_knowledge().build().unwrap());

fn builder() -> ClientBuilder {
    Http::builder()
        .no_proxy()
        .redirect(Policy::none())
        .timeout(wait::ANSWER)
        // Shorter than any `--idle-timeout` of these tests.
        .pool_idle_timeout(Duration::from_secs(2))
}

/// Sends requests to one server.
#[derive(Clone)]
pub(crate) struct Client {
    base: String,
    http: &'static Http,
}

impl Client {
    /// Returns a client of the server at `base`, over HTTP/1.1.
    pub(crate) fn http1(base: String) -> Self {
        Self { base, http: &HTTP1 }
    }

    /// Returns a client over HTTP/2 with prior knowledge.
    pub(crate) fn http2(base: String) -> Self {
        Self { base, http: &HTTP2 }
    }

    /// Returns the origin of the server.
    pub(crate) fn origin(&self) -> &str {
        &self.base
    }

    pub(crate) fn get(&self, target: &str) -> Call {
        self.call("GET", target)
    }

    pub(crate) fn head(&self, target: &str) -> Call {
        self.call("HEAD", target)
    }

    pub(crate) fn options(&self, target: &str) -> Call {
        self.call("OPTIONS", target)
    }

    /// Builds a request that adds `pet`.
    pub(crate) fn add(&self, pet: &Value) -> Call {
        self.post("/v1/pets", pet.to_string())
    }

    /// Builds a POST with the media type of JSON and any body.
    pub(crate) fn post(&self, target: &str, body: impl Into<Vec<u8>>) -> Call {
        self.call("POST", target).set(CONTENT_TYPE, "application/json").body(body)
    }

    /// Builds a request with the suite's API key.
    pub(crate) fn call(&self, method: &str, target: &str) -> Call {
        let sent = Sent { credential: Some(true), ..Sent::new(method, target) };
        let call = Call { client: self.clone(), sent, headers: HeaderMap::new(), body: None };
        call.set(AUTHORIZATION, format!("Bearer {KEY}"))
    }
}

/// A request under construction.
#[derive(Clone)]
pub(crate) struct Call {
    client: Client,
    sent: Sent,
    headers: HeaderMap,
    body: Option<Vec<u8>>,
}

impl Call {
    /// Removes the credential.
    pub(crate) fn anonymous(self) -> Self {
        let mut call = self.without("authorization");
        call.sent.credential = Some(false);
        call
    }

    /// Sets the API key.
    pub(crate) fn key(self, key: &str) -> Self {
        self.set(AUTHORIZATION, format!("Bearer {key}"))
    }

    /// Sets an `Authorization` header, which need not be a credential. So the rules do not check the `error` of a
    /// challenge.
    pub(crate) fn authorization(mut self, value: &str) -> Self {
        self.sent.credential = None;
        self.set(AUTHORIZATION, value)
    }

    pub(crate) fn without(mut self, name: &str) -> Self {
        self.headers.remove(name);
        self
    }

    pub(crate) fn body(mut self, body: impl Into<Vec<u8>>) -> Self {
        self.body = Some(body.into());
        self
    }

    pub(crate) fn content_type(self, value: &str) -> Self {
        self.set(CONTENT_TYPE, value)
    }

    /// Adds a header, even if the request already has a header with this name.
    pub(crate) fn header(mut self, name: &str, value: impl AsRef<[u8]>) -> Self {
        let value = HeaderValue::from_bytes(value.as_ref()).unwrap();
        if name.eq_ignore_ascii_case("x-request-id") {
            self.sent.request_id = Some(String::from_utf8_lossy(value.as_bytes()).into_owned());
        }
        self.headers.append(HeaderName::from_bytes(name.as_bytes()).unwrap(), value);
        self
    }

    fn set(mut self, name: HeaderName, value: impl AsRef<[u8]>) -> Self {
        self.headers.insert(name, HeaderValue::from_bytes(value.as_ref()).unwrap());
        self
    }

    /// Sends the request, and asserts that its answer keeps every rule.
    #[track_caller]
    pub(crate) fn send(self) -> Answer {
        let what = format!("{} {}", self.sent.method, self.sent.target);
        self.try_send().unwrap_or_else(|error| panic!("{what}: {error:?}"))
    }

    /// Sends the request, and asserts that its answer keeps every rule. An error means that no answer came.
    #[track_caller]
    pub(crate) fn try_send(self) -> Result<Answer, reqwest::Error> {
        let Self { client, sent, headers, body } = self;
        let method = Method::from_bytes(sent.method.as_bytes()).unwrap();
        let url = format!("{}{}", client.base, sent.target);
        let request = client.http.request(method, url).headers(headers);
        let response = body.into_iter().fold(request, RequestBuilder::body).send()?;
        let text = |value: &HeaderValue| String::from_utf8_lossy(value.as_bytes()).into_owned();
        let headers = response.headers().iter();
        let answer = Answer {
            status: response.status().as_u16(),
            headers: headers.map(|(name, value)| (name.to_string(), text(value))).collect(),
            body: response.bytes()?.to_vec(),
        };
        rules::check(&sent, &answer);
        Ok(answer)
    }
}
