//! The baseline: bare hyper, or h2 for HTTP/2. Every response is the service's page of 20 animals.
//!
//! The baseline routes, checks and logs nothing, so no service on hyper is faster.

use std::{convert::Infallible, net::SocketAddr, sync::Arc};

use anyhow::{Context as _, Result};
use http_body_util::Full;
use hyper::{
    Request, Response,
    body::Incoming,
    header::{CONNECTION, CONTENT_LENGTH, DATE},
    server::conn::http1,
    service::service_fn,
};
use hyper_util::rt::TokioIo;
use tokio::{
    net::{TcpListener, TcpStream},
    runtime::Runtime,
};

use crate::{
    client::{Answer, Client},
    console::say,
    workload::hot_list,
};

/// Copies the first page of `service`, and responds with it until the process is killed.
pub(crate) fn serve(service: SocketAddr, http2: bool) -> Result<()> {
    let mut page = Client::connect(service)?.ask(&hot_list())?;
    // Over HTTP/1, hyper adds these headers itself.
    for name in [CONNECTION, CONTENT_LENGTH, DATE] {
        page.headers_mut().remove(name);
    }
    let runtime = Runtime::new().context("cannot start the runtime")?;
    runtime.block_on(accept(Arc::new(page), http2))
}

async fn accept(page: Arc<Answer>, is_http2: bool) -> Result<()> {
    let listener = TcpListener::bind("127.0.0.1:0").await.context("cannot listen")?;
    say(format_args!("bare hyper listens on http://{}", listener.local_addr()?));
    loop {
        let (stream, _) = listener.accept().await.context("cannot accept a connection")?;
        let page = Arc::clone(&page);
        // The client closes its connections at the end of a round, so an error is no failure.
        tokio::spawn(async move {
            let _ = stream.set_nodelay(true);
            if is_http2 {
                drop(http2(stream, &page).await);
            } else {
                drop(http1(stream, page).await);
            }
        });
    }
}

async fn http1(stream: TcpStream, page: Arc<Answer>) -> hyper::Result<()> {
    let service = service_fn(|_: Request<Incoming>| {
        let response = Answer::clone(&page).map(Full::new);
        async { Ok::<_, Infallible>(response) }
    });
    http1::Builder::new().serve_connection(TokioIo::new(stream), service).await
}

async fn http2(stream: TcpStream, page: &Answer) -> Result<(), h2::Error> {
    let mut connection = h2::server::handshake(stream).await?;
    while let Some(request) = connection.accept().await {
        let (head, body) = page.clone().into_parts();
        let response = Response::from_parts(head, ());
        request?.1.send_response(response, false)?.send_data(body, true)?;
    }
    Ok(())
}
