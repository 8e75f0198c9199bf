//! How many additions may wait, and what is tried again after a group has failed.

use std::{
    pin::pin,
    sync::Arc,
    task::{Context, Poll, Waker},
    time::Duration,
};

use petstore_domain::{CategoryId, IdempotencyId, IdempotencyRequest, NewPet, PetName, Timestamp};
use petstore_storage::VersionCache;
use petstore_testing::{needs, postgres_or_skip};
use tokio::{
    sync::{mpsc, oneshot},
    time::Instant,
};
use tokio_util::sync::CancellationToken;

use super::{
    MAX_QUEUE, Task, Writer, answer,
    group::{self, Failed, Job},
    retry,
};
use crate::{
    config::PostgresConfig,
    connector::{Connector, Purpose},
    error::StoreFailure,
    pool::{MAX_TRIES, Pool},
    store::PostgresStore,
};

fn job(with_key: bool, tries: u32, in_doubt: bool) -> Job {
    let pet =
        NewPet { name: PetName::parse("Rex").unwrap(), category_id: CategoryId(1), status: None };
    let id = IdempotencyId([1; 16]);
    let request = with_key.then(|| IdempotencyRequest::new(id, &pet, Timestamp(0)));
    let deadline = Instant::now() + Duration::from_secs(1);
    Job { pet, request, deadline, tries, in_doubt, caller: oneshot::channel().0 }
}

/// Whether the job is tried again after this failure.
fn is_tried_again(job: Job, failure: &StoreFailure, in_doubt: bool) -> bool {
    let failed = Failed { failure: failure.clone(), in_doubt };
    !retry(vec![job], &failed).is_empty()
}

#[test]
fn after_a_doubtful_commit_only_an_addition_with_a_key_is_tried_again() {
    for failure in [StoreFailure::NotReplicated, StoreFailure::Deadline(Duration::from_secs(1))] {
        for tries in [0, MAX_TRIES] {
            assert!(!is_tried_again(job(false, tries, false), &failure, true), "{failure}");
            assert!(is_tried_again(job(true, tries, false), &failure, true), "{failure}");
        }
    }
}

#[test]
fn what_was_in_doubt_stays_so_whatever_fails_next() {
    let left = retry(vec![job(true, 0, false)], &Failed::in_doubt(StoreFailure::NotReplicated));
    let left = retry(left, &Failed { failure: StoreFailure::Contention, in_doubt: false });
    assert!(left.len() == 1 && left[0].in_doubt);
}

#[test]
fn what_was_not_committed_is_tried_again_a_bounded_number_of_times() {
    let passes = StoreFailure::Deadline(Duration::from_secs(1));
    for with_key in [false, true] {
        assert!(is_tried_again(job(with_key, 0, false), &passes, false));
        assert!(is_tried_again(job(with_key, MAX_TRIES - 2, false), &passes, false));
        assert!(!is_tried_again(job(with_key, MAX_TRIES - 1, false), &passes, false));
        assert!(!is_tried_again(job(with_key, 0, false), &StoreFailure::Contention, false));
    }
}

#[test]
fn a_record_that_is_gone_is_looked_for_a_bounded_number_of_times() {
    for with_key in [false, true] {
        let left = answer(vec![job(with_key, MAX_TRIES - 1, false)], vec![None]);
        assert!(left.len() == 1 && left[0].tries == MAX_TRIES);
        assert!(answer(left, vec![None]).is_empty());
    }
}

/// As `pg_cancel_backend` refuses it at that instant. What was sent behind it has no transaction.
#[needs(postgres)]
#[tokio::test]
async fn nothing_is_written_where_the_beginning_of_a_transaction_is_refused() {
    let Some(database) = postgres_or_skip("nothing_is_written_where_the_beginning") else { return };
    let config = PostgresConfig::parse(&database.url).unwrap();
    drop(PostgresStore::connect(&config).await.unwrap());
    let connector = Connector::new(&config).unwrap();
    for with_key in [false, true] {
        let connection = connector.connect(Purpose::Calls).await.unwrap();
        let connection = connection.with_shared_session("ROLLBACK; SELECT 1 / 0".to_owned());
        let group = [job(with_key, 0, false)];
        let Err(failed) = Box::pin(group::write(&connection, &group)).await else {
            panic!("written");
        };
        assert!(!failed.in_doubt);
        let rows = "SELECT count(*) FROM pet UNION ALL SELECT count(*) FROM idempotency";
        assert_eq!(database.sql(rows).unwrap().trim(), "0\n0", "{with_key}");
    }
}

#[needs(postgres)]
#[tokio::test]
async fn an_addition_whose_caller_has_given_up_is_not_begun() {
    let Some(database) = postgres_or_skip("an_addition_whose_caller_has_given_up") else { return };
    let config = PostgresConfig::parse(&database.url).unwrap();
    drop(PostgresStore::connect(&config).await.unwrap());
    let (queue, waiting) = mpsc::channel(2);
    let now = Instant::now();
    for deadline in [now, now + Duration::from_mins(1)] {
        queue.send(Job { deadline, ..job(false, 0, false) }).await.unwrap();
    }
    drop(queue);
    let connector = Connector::new(&config).unwrap();
    let pool = Arc::new(Pool::new(connector));
    Task { pool, version: Arc::default(), connection: None }
        .run(waiting, CancellationToken::new())
        .await;
    assert_eq!(database.sql("SELECT count(*) FROM pet").unwrap().trim(), "1");
}

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
