//! The reference: bare hyper that answers every request with one constant answer.
//!
//! It routes nothing, checks nothing and logs nothing, so no service on hyper is faster than it by
//! more than noise.

use std::{convert::Infallible, fs, path::Path, sync::Arc};

use bytes::Bytes;
use http_body_util::Full;
use hyper::{
    HeaderMap, Request, Response, StatusCode,
    body::Incoming,
    header::{HeaderName, HeaderValue},
    server::conn::{http1, http2},
    service::service_fn,
};
use hyper_util::rt::{TokioExecutor, TokioIo};
use serde::{Deserialize, Serialize};
use tokio::net::{TcpListener, TcpStream};

use crate::{
    client::Answer,
    console::say,
    failure::{Context as _, Outcome},
};

/// Headers that hyper writes itself.
const WRITTEN_BY_HYPER: [&str; 3] = ["connection", "content-length", "date"];

/// The constant answer, as a file hands it to the reference.
#[derive(Debug, Deserialize, Serialize)]
pub(crate) struct Constant {
    status: u16,
    headers: Vec<(String, String)>,
    body: String,
}

impl Constant {
    /// The very bytes of an answer that somebody else gave.
    pub(crate) fn of(answer: &Answer) -> Self {
        let headers = answer.headers.iter();
        let kept = headers.filter(|(name, _)| !WRITTEN_BY_HYPER.contains(&name.as_str()));
        Self {
            status: answer.status,
            headers: kept.cloned().collect(),
            body: String::from_utf8_lossy(&answer.body).into_owned(),
        }
    }
}

/// What is cloned for every answer.
struct Prepared {
    status: StatusCode,
    headers: HeaderMap,
    body: Bytes,
}

/// Serves the answer in the file `answer` until the process is killed.
pub(crate) async fn serve(answer: &Path, prior_knowledge: bool) -> Outcome<()> {
    let text = fs::read(answer).cannot(format_args!("read {}", answer.display()))?;
    let constant: Constant = serde_json::from_slice(&text).cannot("read the constant answer")?;
    let prepared = Arc::new(prepare(constant)?);
    let listener = TcpListener::bind("127.0.0.1:0").await.cannot("listen")?;
    say(format_args!("reference listens on http://{}", listener.local_addr().cannot("listen")?));
    loop {
        let (stream, _) = listener.accept().await.cannot("accept a connection")?;
        tokio::spawn(connection(stream, Arc::clone(&prepared), prior_knowledge));
    }
}

fn prepare(constant: Constant) -> Outcome<Prepared> {
    let mut headers = HeaderMap::new();
    for (name, value) in constant.headers {
        let name = HeaderName::try_from(name).cannot("use a header")?;
        headers.append(name, HeaderValue::try_from(value).cannot("use a header")?);
    }
    let status = StatusCode::from_u16(constant.status).cannot("use a status")?;
    Ok(Prepared { status, headers, body: constant.body.into() })
}

async fn connection(stream: TcpStream, prepared: Arc<Prepared>, prior_knowledge: bool) {
    let _ = stream.set_nodelay(true);
    let service = service_fn(|_: Request<Incoming>| {
        let mut response = Response::new(Full::new(prepared.body.clone()));
        *response.status_mut() = prepared.status;
        *response.headers_mut() = prepared.headers.clone();
        async { Ok::<_, Infallible>(response) }
    });
    // A client that goes away is how every connection ends.
    let _ = if prior_knowledge {
        http2::Builder::new(TokioExecutor::new())
            .serve_connection(TokioIo::new(stream), service)
            .await
    } else {
        http1::Builder::new().serve_connection(TokioIo::new(stream), service).await
    };
}
