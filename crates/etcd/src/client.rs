//! Calls of etcd's JSON gateway, with failover between the nodes.
//!
//! Every request can safely be sent twice: it reads, or it writes only if the store's head still has an expected value,
//! which never recurs. So if a node does not answer within `request_timeout`, or has no leader, the client asks the
//! next node, until the deadline.

use std::{
    collections::BTreeMap,
    sync::atomic::{AtomicUsize, Ordering},
    time::Duration,
};

use bytes::Bytes;
use http_body_util::{BodyExt as _, Full};
use hyper::{
    Request,
    header::{AUTHORIZATION, CONTENT_TYPE, HeaderValue},
};
use hyper_rustls::HttpsConnector;
use hyper_util::{
    client::legacy::{Client as HttpClient, connect::HttpConnector},
    rt::TokioExecutor,
};
use petstore_domain::StoreError;
use petstore_storage::error_chain;
use serde::{Serialize, de::DeserializeOwned};
use serde_json::{Value, json};
use tokio::{
    sync::{Mutex, Semaphore},
    time::{self, Instant},
};

use crate::{
    config::EtcdConfig,
    error::{self, Cause, Reason},
    rows, tls,
};

/// The largest number of requests in flight.
const MAX_REQUESTS: usize = 64;
/// The pause after each failed try, once every node has failed.
const RETRY_PAUSE: Duration = Duration::from_millis(50);
/// The time that a node has for each byte of a request, in addition to `request_timeout`. etcd's gateway is slow.
const BYTE_TIME: Duration = Duration::from_micros(4);
const NO_SPACE: &str =
    "etcd is out of space: compact and defragment it, or raise its quota, then disarm the alarm";
/// The error of a read of a snapshot after its compaction.
const COMPACTED: &str =
    "etcd has compacted the snapshot away: start again, and let etcd keep its history longer";
/// The time after which an idle connection is closed.
const IDLE_TIMEOUT: Duration = Duration::from_mins(1);

pub(crate) struct Client {
    http: HttpClient<HttpsConnector<HttpConnector>, Full<Bytes>>,
    nodes: Vec<String>,
    /// The index of the node that is asked first.
    current: AtomicUsize,
    /// The user's token; `None` if the next call must fetch one, or if the URL names no user.
    token: Mutex<Option<HeaderValue>>,
    requests: Semaphore,
    config: EtcdConfig,
}

/// An answer, and `true` if an earlier try may have been carried out too.
pub(crate) type Reply<T> = (T, bool);

/// The error of one try.
enum TryError {
    /// There was no usable answer, for this reason. `true` if the request may have been carried out.
    NoAnswer(String, bool),
    /// The node refused the token.
    Unauthenticated(String),
    /// Every node would answer the same way.
    Final(StoreError),
}

impl Client {
    pub(crate) fn new(config: &EtcdConfig) -> Result<Self, Reason> {
        let scheme = if config.is_encrypted { "https" } else { "http" };
        let http = HttpClient::builder(TokioExecutor::new())
            .pool_idle_timeout(IDLE_TIMEOUT)
            .build(tls::connector(config)?);
        Ok(Self {
            http,
            nodes: config.hosts.iter().map(|host| format!("{scheme}://{host}")).collect(),
            current: AtomicUsize::new(0),
            token: Mutex::default(),
            requests: Semaphore::new(MAX_REQUESTS),
            config: config.clone(),
        })
    }

    /// Returns the deadline of a call that begins now.
    pub(crate) fn deadline(&self) -> Instant {
        Instant::now() + self.config.call_timeout
    }

    /// Returns the error of a call that has reached its deadline.
    pub(crate) fn late(&self) -> StoreError {
        StoreError::unavailable(format!("no answer within {:?}", self.config.call_timeout))
    }

    /// Sends a request, again and again until a node answers it or the deadline passes.
    pub(crate) async fn call<T: DeserializeOwned>(
        &self,
        path: &'static str,
        request: &(impl Serialize + Sync),
        deadline: Instant,
    ) -> Result<Reply<T>, StoreError> {
        // Boxed so that the futures of the callers are small.
        let sent = Box::pin(self.send(path, rows::json(request).into(), deadline));
        let (answer, is_repeated) = sent.await?;
        let unreadable =
            |error| StoreError::unavailable(format!("etcd's answer cannot be read: {error}"));
        let answer = serde_json::from_slice(&answer).map_err(unreadable)?;
        Ok((answer, is_repeated))
    }

    /// Returns the value of a metric of one node. `name` ends with a space, like the name in the node's answer.
    pub(crate) async fn metric(&self, name: &str) -> Result<Option<f64>, StoreError> {
        let (answer, _) = self.send("/metrics", Bytes::new(), self.deadline()).await?;
        let mut lines = std::str::from_utf8(&answer).unwrap_or_default().lines();
        Ok(lines.find_map(|line| line.strip_prefix(name)?.trim().parse().ok()))
    }

    async fn send(
        &self,
        path: &'static str,
        body: Bytes,
        deadline: Instant,
    ) -> Result<Reply<Bytes>, StoreError> {
        let size = u32::try_from(body.len()).unwrap_or(u32::MAX);
        let request_timeout = self.config.request_timeout + BYTE_TIME * size;
        let permit = time::timeout_at(deadline, self.requests.acquire()).await;
        let limit = self.config.call_timeout;
        let busy = |_| StoreError::unavailable(format!("no connection was free within {limit:?}"));
        let _permit = permit.map_err(busy)?;
        let (mut is_repeated, mut errors) = (false, BTreeMap::new());
        loop {
            let current = self.current.load(Ordering::Relaxed);
            let node = &self.nodes[current];
            let until = deadline.min(Instant::now() + request_timeout);
            let late = |_| Err(TryError::NoAnswer("no answer".to_owned(), true));
            let tried = time::timeout_at(until, self.try_once(node, path, body.clone())).await;
            match tried.unwrap_or_else(late) {
                Ok(answer) => return Ok((answer, is_repeated)),
                Err(TryError::Final(error)) => return Err(error),
                Err(TryError::Unauthenticated(why)) => {
                    if errors.insert(current, why).is_none() {
                        continue;
                    }
                }
                Err(TryError::NoAnswer(why, in_doubt)) => {
                    is_repeated |= in_doubt;
                    // The deadline may have cut this try short, so an earlier error says more.
                    if Instant::now() < deadline || !errors.contains_key(&current) {
                        errors.insert(current, why);
                    }
                }
            }
            // Another call may have switched to the next node meanwhile.
            let next = (current + 1) % self.nodes.len();
            let _ =
                self.current.compare_exchange(current, next, Ordering::Relaxed, Ordering::Relaxed);
            if errors.len() == self.nodes.len() {
                // After a restore, a node may not answer at all, because the token has a later revision than the node.
                // So the next try fetches a new token.
                if let Ok(mut token) = self.token.try_lock() {
                    *token = None;
                }
                time::sleep_until(deadline.min(Instant::now() + RETRY_PAUSE)).await;
            }
            if Instant::now() >= deadline {
                let each = errors.iter().map(|(node, why)| format!("{}: {why}", self.nodes[*node]));
                let all = each.collect::<Vec<_>>().join("; ");
                return Err(StoreError::unavailable(format!(
                    "no answer from etcd within {limit:?} ({all}); check that most nodes run and \
                     reach each other, and that the addresses and sslmode are right"
                )));
            }
        }
    }

    async fn try_once(&self, node: &str, path: &str, body: Bytes) -> Result<Bytes, TryError> {
        let token = self.authenticate(node).await?;
        let answer = self.post(node, path, body, token.clone()).await;
        if matches!(answer, Err(TryError::Unauthenticated(_))) {
            self.token.lock().await.take_if(|known| Some(&*known) == token.as_ref());
        }
        answer
    }

    /// Returns the user's token; `None` if the URL names no user. Fetches a token if none is known.
    async fn authenticate(&self, node: &str) -> Result<Option<HeaderValue>, TryError> {
        let Some((name, password)) = &self.config.credential else { return Ok(None) };
        let mut known = self.token.lock().await;
        if known.is_some() {
            return Ok(known.clone());
        }
        let body = json!({ "name": name, "password": password }).to_string();
        let answer = self.post(node, "/v3/auth/authenticate", body.into(), None).await?;
        let answer: Value = serde_json::from_slice(&answer).unwrap_or_default();
        let token = answer["token"].as_str().and_then(|token| HeaderValue::from_str(token).ok());
        let missing = || TryError::NoAnswer("etcd gave no token".to_owned(), false);
        let mut token = token.ok_or_else(missing)?;
        token.set_sensitive(true);
        *known = Some(token);
        Ok(known.clone())
    }

    async fn post(
        &self,
        node: &str,
        path: &str,
        body: Bytes,
        token: Option<HeaderValue>,
    ) -> Result<Bytes, TryError> {
        let request = Request::post(format!("{node}{path}"))
            .header(CONTENT_TYPE, "application/json")
            .body(Full::new(body));
        let mut request = request.map_err(|error| TryError::NoAnswer(error.to_string(), false))?;
        request.headers_mut().extend(token.map(|token| (AUTHORIZATION, token)));
        let answer = self.http.request(request).await;
        let answer =
            answer.map_err(|error| TryError::NoAnswer(error_chain(&error), !error.is_connect()))?;
        let status = answer.status();
        let body = answer.into_body().collect().await;
        let body = body.map_err(|error| TryError::NoAnswer(error_chain(&error), true))?.to_bytes();
        if status.is_success() { Ok(body) } else { Err(try_error(status.as_u16(), &body)) }
    }
}

/// Returns the error for a response without a success status. `body` has a message and a gRPC status code.
fn try_error(status: u16, body: &[u8]) -> TryError {
    let refusal: Value = serde_json::from_slice(body).unwrap_or_default();
    let message = refusal["message"].as_str().unwrap_or_default().to_owned();
    let says = |words: &str| message.contains(words);
    match refusal["code"].as_u64().unwrap_or_default() {
        16 => TryError::Unauthenticated(message),
        3 if says("auth store is old") => TryError::Unauthenticated(message),
        3 if says("too many operations") => {
            TryError::Final(StoreError::unavailable(Cause::TooManyOps))
        }
        8 if says("space exceeded") => TryError::Final(StoreError::unavailable(NO_SPACE)),
        11 => TryError::Final(StoreError::unavailable(COMPACTED)),
        3 | 5 | 7 | 9 | 12 => TryError::Final(error::refused(message)),
        0 => TryError::NoAnswer(format!("HTTP status {status}"), true),
        _ => TryError::NoAnswer(message, true),
    }
}
