//! Reads beside a transaction that keeps an old snapshot open, such as a dump or an export.

use std::time::{Duration, Instant};

use petstore_domain::PetRepository;
use petstore_postgres::PostgresStore;
use petstore_testing::{needs, postgres_or_skip};
use tokio_postgres::NoTls;

use crate::support::{add, open, query};

/// The median time of a page of 20 animals.
async fn page_time(store: &PostgresStore) -> Duration {
    let mut times = Vec::new();
    for _ in 0..1000 {
        let began = Instant::now();
        PetRepository::list(store, query(20, None)).await.unwrap();
        times.push(began.elapsed());
    }
    times.sort();
    times[times.len() / 2]
}

/// A measurement, printed by
/// `cargo test -p petstore-postgres --test postgres open_snapshot -- --ignored --nocapture`.
#[ignore = "a measurement of a minute or two"]
#[expect(clippy::print_stdout, reason = "it is a measurement")]
#[needs(postgres)]
#[tokio::test]
async fn reads_beside_an_open_snapshot_are_measured() {
    let Some(database) = postgres_or_skip("reads_beside_an_open_snapshot") else { return };
    let store = open(&database.url).await;
    for name in ["Rex"; 20] {
        add(&store, name).await;
    }
    let before = page_time(&store).await;
    let (client, wire) = tokio_postgres::connect(&database.url, NoTls).await.unwrap();
    tokio::spawn(wire);
    client
        .batch_execute("BEGIN ISOLATION LEVEL REPEATABLE READ; SELECT count(*) FROM pet")
        .await
        .unwrap();
    let began = Instant::now();
    for _ in 0..40_000 {
        add(&store, "Rex").await;
    }
    let writing = began.elapsed();
    let beside = page_time(&store).await;
    let began = Instant::now();
    for _ in 0..500 {
        add(&store, "Rex").await;
    }
    let (adding, last) = (writing / 40_000, began.elapsed() / 500);
    client.batch_execute("ROLLBACK").await.unwrap();
    println!("a page: {before:?} before, {beside:?} beside 40,000 additions");
    println!("an addition: {adding:?} on average, {last:?} at the end");
}
