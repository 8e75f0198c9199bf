//! The limit on calls that wait for a connection, and the end of all pooled connections after a call took too long.

use std::{
    future,
    net::TcpListener,
    pin::pin,
    task::{Context, Poll, Waker},
};

use petstore_domain::StoreError;
use petstore_testing::{Database, needs};

use super::{Activity, MAX_TRIES, MAX_WAITING, Pool};
use crate::{config::PostgresConfig, connector::Connector, error::StoreFailure};

#[tokio::test]
async fn the_calls_that_wait_for_a_connection_have_a_time_limit_and_a_bounded_number() {
    // The listener accepts connections and sends nothing, so no call gets a connection.
    let silent = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = silent.local_addr().unwrap();
    let url = format!("postgres://u:p@{address}/d?pool_size=1&pool_timeout=300ms");
    let pool = Pool::new(Connector::new(&PostgresConfig::parse(&url).unwrap()).unwrap());

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
    let late = waiting.pop().unwrap().await.unwrap_err().to_string();
    assert_eq!(late, "no connection was free within 300ms");
    assert!(pin!(pool.query("SELECT 1", &[])).poll(&mut context).is_pending());
}

/// The server refuses the first tries. The sequence counts them, because a rollback does not reset it.
#[needs(postgres)]
#[tokio::test]
async fn a_statement_is_tried_again_as_often_as_its_failure_permits() {
    let database = Database::create().unwrap();
    let pool = Pool::new(Connector::new(&PostgresConfig::parse(&database.url).unwrap()).unwrap());
    for (state, tries) in
        [("40001", MAX_TRIES), ("08006", 2), ("25006", 2), ("23505", 1), ("53100", 1)]
    {
        for (failures, succeeds) in [(tries - 1, true), (tries, false)] {
            let refuses = format!(
                "DROP SEQUENCE IF EXISTS tries; CREATE SEQUENCE tries; CREATE OR REPLACE FUNCTION refuses() \
                 RETURNS int LANGUAGE plpgsql AS $$ BEGIN IF nextval('tries') <= {failures} THEN \
                 RAISE 'as asked' USING ERRCODE = '{state}'; END IF; RETURN 1; END $$"
            );
            database.sql(&refuses).unwrap();
            let answer = pool.query("SELECT refuses()", &[]).await;
            assert_eq!(answer.is_ok(), succeeds, "{state} {failures}: {answer:?}");
        }
    }
    // A firewall may silently cut connections. A later call on such a connection would also wait until its deadline.
    let (idle, in_use) = (pool.get().await.unwrap(), pool.get().await.unwrap());
    drop(idle);
    assert_eq!(pool.activity(), Activity { connections: 2, idle: 1, waiting: 0 });
    let late: Result<(), _> = pool.within_deadline(future::pending()).await;
    assert!(matches!(late, Err(StoreError::Unavailable(_))), "{late:?}");
    drop(in_use);
    assert_eq!(pool.activity().idle, 0);
}
