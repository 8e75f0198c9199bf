//! A client for the requests whose answers are looked at: hyper's, one request at a time.

use std::{net::SocketAddr, time::Duration};

use anyhow::{Context as _, Result};
use bytes::Bytes;
use http_body_util::{BodyExt as _, Full};
use hyper::{Response, client::conn::http1};
use hyper_util::rt::TokioIo;
use tokio::{net::TcpStream, runtime, time::timeout};

use crate::request::Request;

/// How long an answer may take before the benchmark gives up. Under callgrind, answers are slow.
const TIMEOUT: Duration = Duration::from_mins(1);

/// A response with its whole body.
pub(crate) type Answer = Response<Bytes>;

/// One connection that is kept.
#[derive(Debug)]
pub(crate) struct Client {
    runtime: runtime::Runtime,
    sender: http1::SendRequest<Full<Bytes>>,
}

impl Client {
    pub(crate) fn connect(address: SocketAddr) -> Result<Self> {
        let runtime = runtime::Builder::new_current_thread().enable_all().build()?;
        let connected = runtime.block_on(async {
            let stream = TcpStream::connect(address).await?;
            stream.set_nodelay(true)?;
            let (sender, connection) = http1::handshake(TokioIo::new(stream)).await?;
            tokio::spawn(connection);
            anyhow::Ok(sender)
        });
        let sender = connected.with_context(|| format!("cannot connect to {address}"))?;
        Ok(Self { runtime, sender })
    }

    pub(crate) fn ask(&mut self, request: &Request) -> Result<Answer> {
        let Request { method, path, headers, body, expect: _ } = request;
        let mut builder = hyper::Request::builder().method(*method).uri(path);
        for (name, value) in [("Host", "localhost")]
            .into_iter()
            .chain(headers.iter().map(|(name, value)| (*name, value.as_str())))
        {
            builder = builder.header(name, value);
        }
        let built = builder.body(Full::from(body.clone()))?;
        let answered = self.runtime.block_on(async {
            let exchange = async {
                self.sender.ready().await?;
                let (head, body) = self.sender.send_request(built).await?.into_parts();
                anyhow::Ok(Response::from_parts(head, body.collect().await?.to_bytes()))
            };
            timeout(TIMEOUT, exchange).await?
        });
        answered.with_context(|| format!("no answer to {method} {path}"))
    }
}

/// A header of an answer, as text.
pub(crate) fn header<'a>(answer: &'a Answer, name: &str) -> Option<&'a str> {
    answer.headers().get(name)?.to_str().ok()
}

/// The address of the next page, if there is one.
pub(crate) fn next_page(answer: &Answer) -> Option<&str> {
    let link = header(answer, "link").filter(|link| link.contains("rel=\"next\""))?;
    Some(link.split_once('<')?.1.split_once('>')?.0)
}
