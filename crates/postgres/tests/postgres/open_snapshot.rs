//! Reads beside a transaction that keeps an old snapshot open, such as a dump or an export.

use std::time::{Duration, Instant};

use petstore_domain::PetRepository;
use petstore_postgres::PostgresStore;
use petstore_testing::{Database, needs};
use tokio_postgres::NoTls;

use crate::support::{add, open, query};

/// Returns the median time of a read of a page of 20 animals.
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

/// While a snapshot is open, PostgreSQL cannot remove the old versions of the state's row, and each addition makes one
/// version. A page that had to read all these versions would take several times as long.
#[needs(postgres, quiet)]
#[tokio::test]
async fn a_page_takes_no_longer_beside_an_open_snapshot() {
    let database = Database::create().unwrap();
    let store = open(&database.url).await;
    for name in ["Rex"; 20] {
        add(&store, name).await;
    }
    let before = page_time(&store).await;
    let (client, wire) = tokio_postgres::connect(&database.url, NoTls).await.unwrap();
    tokio::spawn(wire);
    let begin = "BEGIN ISOLATION LEVEL REPEATABLE READ; SELECT count(*) FROM pet";
    client.batch_execute(begin).await.unwrap();
    for _ in 0..10_000 {
        add(&store, "Rex").await;
    }
    let beside = page_time(&store).await;
    assert!(beside < 2 * before, "a page takes {beside:?} beside a snapshot, {before:?} before");
}
