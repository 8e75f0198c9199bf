//! The bound on calls that wait for a connection.

use std::{
    net::TcpListener,
    pin::pin,
    task::{Context, Poll, Waker},
};

use super::{MAX_WAITING, Pool};
use crate::{config::PostgresConfig, connector::Connector, error::StoreFailure};

#[tokio::test]
async fn calls_that_wait_for_a_connection_are_bounded() {
    // The listener accepts connections and sends nothing, so no call gets a connection.
    let silent = TcpListener::bind("127.0.0.1:0").unwrap();
    let port = silent.local_addr().unwrap().port();
    let url = format!("postgres://u:p@127.0.0.1:{port}/d?pool_size=1&pool_timeout=3600s");
    let connector = Connector::new(&PostgresConfig::parse(&url).unwrap()).unwrap();
    let pool = Pool::new(connector);

    let mut context = Context::from_waker(Waker::noop());
    let mut waiting = Vec::new();
    for _ in 0..MAX_WAITING {
        let mut call = Box::pin(pool.query("SELECT 1", &[]));
        assert!(call.as_mut().poll(&mut context).is_pending());
        waiting.push(call);
    }
    let refused = pin!(pool.query("SELECT 1", &[])).poll(&mut context);
    let is_full =
        |end: &Poll<_>| matches!(end, Poll::Ready(Err(StoreFailure::PoolQueueFull(MAX_WAITING))));
    assert!(is_full(&refused), "{refused:?}");
    drop(waiting.pop());
    assert!(pin!(pool.query("SELECT 1", &[])).poll(&mut context).is_pending());
}
