//! How many additions may wait.

use std::{
    pin::pin,
    sync::Arc,
    task::{Context, Poll, Waker},
};

use petstore_domain::{CategoryId, NewPet, PetName};

use super::{MAX_QUEUE, Writer};
use crate::{
    config::PostgresConfig, connector::Connector, pool::Pool, version_cache::VersionCache,
};

#[tokio::test]
async fn additions_that_wait_are_bounded() {
    let config = PostgresConfig::parse("postgres://u:p@127.0.0.1:1/d").unwrap();
    let connector = Connector::new(&config).unwrap();
    let pool = Arc::new(Pool::new(connector));
    let (writer, _task) = Writer::new(pool, Arc::new(VersionCache::default()));
    let rex =
        NewPet { name: PetName::parse("Rex").unwrap(), category_id: CategoryId(1), status: None };
    // Nothing is awaited, and the task does not run, so nothing is taken from the queue.
    let mut context = Context::from_waker(Waker::noop());
    let mut waiting = Vec::new();
    for _ in 0..MAX_QUEUE {
        let mut addition = Box::pin(writer.add(rex.clone(), None));
        assert!(addition.as_mut().poll(&mut context).is_pending());
        waiting.push(addition);
    }
    let Poll::Ready(Err(refused)) = pin!(writer.add(rex, None)).poll(&mut context) else {
        panic!("one more than the limit waits");
    };
    let expected = "the store cannot answer: the writer's queue is full (4096 additions wait)";
    assert_eq!(refused.to_string(), expected);
}
