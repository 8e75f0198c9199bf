//! An HTTP client for requests whose responses are checked.

use std::{net::SocketAddr, time::Duration};

use anyhow::{Context as _, Result};
use bytes::Bytes;
use futures_util::future::try_join_all;
use http_body_util::{BodyExt as _, Full};
use hyper::{Response, client::conn::http1};
use hyper_util::rt::TokioIo;
use tokio::{net::TcpStream, runtime, time::timeout};

use crate::request::{KEY_MARK, Request};

/// The time limit for a response, which is slow under callgrind.
const TIMEOUT: Duration = Duration::from_mins(1);

/// A response with its whole body.
pub(crate) type Answer = Response<Bytes>;

/// A client with a fixed number of connections.
#[derive(Debug)]
pub(crate) struct Client {
    runtime: runtime::Runtime,
    senders: Vec<Sender>,
}

type Sender = http1::SendRequest<Full<Bytes>>;

impl Client {
    /// Connects with one connection.
    pub(crate) fn connect(address: SocketAddr) -> Result<Self> {
        Self::with_connections(address, 1)
    }

    pub(crate) fn with_connections(address: SocketAddr, count: usize) -> Result<Self> {
        let runtime = runtime::Builder::new_current_thread().enable_all().build()?;
        let connect = async || {
            let stream = TcpStream::connect(address).await?;
            stream.set_nodelay(true)?;
            let (sender, connection) = http1::handshake(TokioIo::new(stream)).await?;
            tokio::spawn(connection);
            anyhow::Ok(sender)
        };
        let connected = runtime.block_on(try_join_all((0..count).map(|_| connect())));
        let senders = connected.with_context(|| format!("cannot connect to {address}"))?;
        Ok(Self { runtime, senders })
    }

    pub(crate) fn ask(&mut self, request: &Request) -> Result<Answer> {
        Ok(self.ask_at_once(&[request])?.remove(0))
    }

    /// Sends requests at the same time, at most one for each connection.
    pub(crate) fn ask_at_once(&mut self, requests: &[&Request]) -> Result<Vec<Answer>> {
        let asked = self.senders.iter_mut().zip(requests).map(|(sender, request)| async move {
            let answered = timeout(TIMEOUT, exchange(sender, request)).await;
            let Request { method, path, .. } = request;
            answered
                .map_err(Into::into)
                .flatten()
                .with_context(|| format!("no answer to {method} {path}"))
        });
        self.runtime.block_on(try_join_all(asked))
    }
}

async fn exchange(sender: &mut Sender, request: &Request) -> Result<Answer> {
    let Request { method, path, headers, body, expect: _ } = request;
    let mut builder =
        hyper::Request::builder().method(*method).uri(path).header("Host", "localhost");
    for (name, value) in headers {
        builder = match &**value {
            KEY_MARK => builder.header(*name, format!("{:016x}", fastrand::u64(..))),
            value => builder.header(*name, value),
        };
    }
    let built = builder.body(Full::from(body.clone()))?;
    sender.ready().await?;
    let (head, body) = sender.send_request(built).await?.into_parts();
    Ok(Response::from_parts(head, body.collect().await?.to_bytes()))
}

/// Returns a header of a response as text.
pub(crate) fn header<'a>(answer: &'a Answer, name: &str) -> Option<&'a str> {
    answer.headers().get(name)?.to_str().ok()
}

/// Returns the path of the next page; `None` on the last page.
pub(crate) fn next_page(answer: &Answer) -> Option<&str> {
    let link = header(answer, "link").filter(|link| link.contains("rel=\"next\""))?;
    Some(link.split_once('<')?.1.split_once('>')?.0)
}
