//! Additions that are tried again after their group failed, and additions that are dropped.

use std::{
    sync::Arc,
    task::{Context, Waker},
    time::{Duration, Instant},
};

use petstore_domain::{
    Added, CategoryId, IdempotencyId, IdempotencyRequest, NewPet, PetName, Timestamp,
};
use petstore_storage::{
    VersionCache,
    writer::{Job, Jobs, Writer, channel},
};
use petstore_testing::{Database, needs};

use super::{
    Attempt, RETRY_PAUSE, answer,
    group::{self, Failed},
    retry, run,
};
use crate::{
    config::PostgresConfig,
    connector::{Connector, Purpose},
    error::StoreFailure,
    pool::{MAX_TRIES, Pool},
    store::PostgresStore,
};

fn rex() -> NewPet {
    NewPet { name: PetName::parse("Rex").unwrap(), category_id: CategoryId(1), status: None }
}

/// Returns an addition whose caller waits until the test program ends.
fn attempt(with_key: bool, tries: u32) -> Attempt {
    let (writer, mut jobs): (Writer, Jobs) = channel(1, None);
    let request =
        with_key.then(|| IdempotencyRequest::new(IdempotencyId([1; 16]), &rex(), Timestamp(0)));
    let mut call = Box::pin(async move { writer.add(rex(), request).await });
    assert!(call.as_mut().poll(&mut Context::from_waker(Waker::noop())).is_pending());
    let Job::Add(add) = jobs.ready(0).pop().unwrap();
    Box::leak(Box::new(call));
    Attempt { add, tries, in_doubt: false }
}

#[test]
fn an_addition_is_tried_again_a_few_times_if_nothing_was_committed_and_in_doubt_only_with_a_key() {
    let late = StoreFailure::Deadline(Duration::from_secs(1));
    for (failure, in_doubt, tries, [without_key, with_key]) in [
        (&late, true, 0, [false, true]),
        (&StoreFailure::NotReplicated, true, MAX_TRIES, [false, true]),
        (&late, false, 0, [true, true]),
        (&late, false, MAX_TRIES - 2, [true, true]),
        (&late, false, MAX_TRIES - 1, [false, false]),
        (&StoreFailure::Contention, false, 0, [false, false]),
    ] {
        let failed = Failed { failure: failure.clone(), in_doubt };
        let is_tried = |with_key| !retry(vec![attempt(with_key, tries)], &failed).is_empty();
        assert_eq!([is_tried(false), is_tried(true)], [without_key, with_key], "{failure} {tries}");
    }
    // An addition in doubt stays in doubt after another failure.
    let left = retry(vec![attempt(true, 0)], &Failed { failure: late, in_doubt: true });
    let left = retry(left, &Failed { failure: StoreFailure::Contention, in_doubt: false });
    assert!(left.len() == 1 && left[0].in_doubt);
}

#[test]
fn an_addition_without_an_outcome_is_tried_a_bounded_number_of_times() {
    for with_key in [false, true] {
        let left = answer(vec![attempt(with_key, MAX_TRIES - 1)], vec![None]);
        assert!(left.len() == 1 && left[0].tries == MAX_TRIES);
        assert!(answer(left, vec![None]).is_empty());
    }
}

/// `pg_cancel_backend` may cancel BEGIN. The statements that were sent after it then have no transaction.
#[needs(postgres)]
#[tokio::test]
async fn nothing_is_written_if_begin_is_refused() {
    let database = Database::create().unwrap();
    let config = PostgresConfig::parse(&database.url).unwrap();
    drop(PostgresStore::connect(&config).await.unwrap());
    let connector = Connector::new(&config).unwrap();
    for with_key in [false, true] {
        let mut connection = connector.connect(Purpose::Calls).await.unwrap();
        connection.shared_settings = Some("ROLLBACK; SELECT 1 / 0".to_owned());
        let mut group = vec![attempt(with_key, 0)];
        let Err(failed) =
            Box::pin(group::write(&connection, &mut group, &VersionCache::default())).await
        else {
            panic!("the group was written although BEGIN was refused");
        };
        assert!(!failed.in_doubt);
        let rows = "SELECT count(*) FROM pet UNION ALL SELECT count(*) FROM idempotency";
        assert_eq!(database.sql(rows).unwrap().trim(), "0\n0", "{with_key}");
    }
}

/// A server may freeze after it has accepted a connection.
#[needs(postgres)]
#[tokio::test]
async fn a_server_that_does_not_prepare_the_statements_is_given_up() {
    let database = Database::create().unwrap();
    let url = format!("{}?call_timeout=500ms&statement_timeout=1min", database.url);
    let config = PostgresConfig::parse(&url).unwrap();
    drop(PostgresStore::connect(&config).await.unwrap());
    let connector = Connector::new(&config).unwrap();
    let [holder, frozen] =
        [Purpose::Archive, Purpose::Calls].map(|purpose| connector.connect(purpose));
    let (holder, frozen) = (holder.await.unwrap(), frozen.await.unwrap());
    holder.batch("BEGIN; LOCK TABLE petstore_state").await.unwrap();
    let (mut group, versions) = (vec![attempt(true, 0)], VersionCache::default());
    let writing = group::write(&frozen, &mut group, &versions);
    let written = tokio::time::timeout(Duration::from_secs(20), writing).await.unwrap();
    let is_late = |failed: Failed| !failed.in_doubt && failed.failure.breaks_connection();
    assert!(written.is_err_and(is_late), "the group was written although the table is locked");
}

/// Another session holds the lock of the state for longer than one of the two callers waits.
#[needs(postgres)]
#[tokio::test]
async fn an_addition_is_dropped_if_its_caller_goes_away_while_it_waits_for_the_lock() {
    let database = Database::create().unwrap();
    let config = PostgresConfig::parse(&database.url).unwrap();
    drop(PostgresStore::connect(&config).await.unwrap());
    for with_key in [false, true] {
        let other = Connector::new(&config).unwrap().connect(Purpose::Archive).await.unwrap();
        other.batch("BEGIN; SELECT FROM petstore_state FOR UPDATE").await.unwrap();
        let (writer, jobs) = channel(8, Some(Duration::from_secs(4)));
        let pool = Arc::new(Pool::new(Connector::new(&config).unwrap()));
        let writing = tokio::spawn(run(pool, Arc::default(), jobs));
        let request = |key| IdempotencyRequest::new(IdempotencyId([key; 16]), &rex(), Timestamp(0));
        let key = |key| with_key.then(|| request(key));
        let abandoned = tokio::time::timeout(Duration::from_secs(1), writer.add(rex(), key(1)));
        let (abandoned, waits, ()) = tokio::join!(abandoned, writer.add(rex(), key(2)), async {
            tokio::time::sleep(Duration::from_millis(1500)).await;
            other.batch("COMMIT").await.unwrap();
        });
        assert!(abandoned.is_err());
        assert!(matches!(waits, Ok(Added::Created(_))), "{waits:?}");
        writer.close().await;
        writing.await.unwrap();
    }
    assert_eq!(database.sql("SELECT count(*) FROM pet").unwrap().trim(), "2");
}

/// The server ends the session of each try. The sequence counts the tries.
#[needs(postgres)]
#[tokio::test]
async fn a_writer_pauses_before_it_tries_again_and_drops_an_addition_whose_caller_is_gone() {
    petstore_testing::limit_time();
    let database = Database::create().unwrap();
    let config = PostgresConfig::parse(&database.url).unwrap();
    drop(PostgresStore::connect(&config).await.unwrap());
    let ends = "CREATE FUNCTION ends() RETURNS trigger LANGUAGE plpgsql AS \
         'BEGIN PERFORM nextval(''tries''), pg_terminate_backend(pg_backend_pid()); RETURN NEW; END'; \
         CREATE TRIGGER ends BEFORE INSERT ON pet EXECUTE FUNCTION ends()";
    database.sql(ends).unwrap();
    for (timeout, tries) in [(None, MAX_TRIES), (Some(RETRY_PAUSE / 2), 1)] {
        database.sql("DROP SEQUENCE IF EXISTS tries; CREATE SEQUENCE tries").unwrap();
        let pool = Arc::new(Pool::new(Connector::new(&config).unwrap()));
        let (writer, jobs) = channel(8, timeout);
        let (writing, began) = (tokio::spawn(run(pool, Arc::default(), jobs)), Instant::now());
        let added = writer.add(rex(), None).await;
        let tried = began.elapsed();
        assert!(added.is_err() && tried >= RETRY_PAUSE * (tries - 1), "{added:?} {tried:?}");
        writer.close().await;
        writing.await.unwrap();
        let counted = database.sql("SELECT last_value FROM tries").unwrap();
        assert_eq!(counted.trim(), tries.to_string());
    }
}
