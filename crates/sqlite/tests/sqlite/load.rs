//! Measures additions with an idempotency key beside ones without, in a store that has many records:
//! `cargo test --release -p petstore-sqlite --test sqlite -- --ignored --nocapture load`.

use std::{
    fs,
    io::{self, Write as _},
    sync::{
        Arc,
        atomic::{AtomicU64, Ordering},
    },
    time::{Duration, Instant},
};

use petstore_domain::{IdempotencyId, IdempotencyRequest, PetRepository};
use petstore_sqlite::{SqliteConfig, SqliteStore, Synchronous};
use tokio::task::JoinSet;

use crate::support::{NOW, Place, rex};

/// Records in the store before anything is measured.
const RECORDS: u64 = 1_000_000;
/// Additions in flight while the records are made.
const FILLERS: u64 = 1024;
/// Additions in flight while it is measured.
const CLIENTS: u64 = 64;
const ROUNDS: usize = 9;
const ROUND: Duration = Duration::from_secs(2);

/// Returns a request under an id that looks random, as one made by SHA-256 does.
fn request(number: u64) -> IdempotencyRequest {
    let mix = |seed: u64| {
        let mut word = seed.wrapping_add(0x9e37_79b9_7f4a_7c15);
        word = (word ^ (word >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        word = (word ^ (word >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        word ^ (word >> 31)
    };
    let id = u128::from(mix(number)) << 64 | u128::from(mix(!number));
    IdempotencyRequest::new(IdempotencyId(id.to_be_bytes()), &rex(), NOW)
}

/// Adds animals from `clients` tasks until `goes_on` fails. Returns how many.
async fn add(
    store: &Arc<SqliteStore>,
    clients: u64,
    keys: Option<Arc<AtomicU64>>,
    goes_on: impl Fn(u64) -> bool + Clone + Send + 'static,
) -> u64 {
    let (mut tasks, added) = (JoinSet::new(), Arc::new(AtomicU64::new(0)));
    for _ in 0..clients {
        let (store, keys, added) = (Arc::clone(store), keys.clone(), Arc::clone(&added));
        let goes_on = goes_on.clone();
        tasks.spawn(async move {
            while goes_on(added.fetch_add(1, Ordering::Relaxed)) {
                let key = keys.as_ref().map(|keys| request(keys.fetch_add(1, Ordering::Relaxed)));
                store.add(rex(), key).await.unwrap();
            }
        });
    }
    tasks.join_all().await;
    added.load(Ordering::Relaxed) - clients
}

/// Returns the processor time of this process, in microseconds.
fn processor_time() -> f64 {
    let stat = fs::read_to_string("/proc/self/stat").unwrap();
    let fields: Vec<&str> = stat.rsplit(") ").next().unwrap().split(' ').collect();
    (fields[11].parse::<f64>().unwrap() + fields[12].parse::<f64>().unwrap()) * 10_000.0
}

fn median(mut values: Vec<f64>) -> f64 {
    values.sort_by(f64::total_cmp);
    values[values.len() / 2]
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
#[ignore = "measures time: a minute or two, without a bound"]
async fn additions_with_a_key() {
    let place = Place::new();
    let keys = Arc::new(AtomicU64::new(0));
    let open = |synchronous| {
        Arc::new(SqliteStore::open(&SqliteConfig { path: place.path(), synchronous }).unwrap())
    };
    let filling = open(Synchronous::Normal);
    add(&filling, FILLERS, Some(Arc::clone(&keys)), |added| added < RECORDS).await;
    drop(filling);
    let store = open(Synchronous::Full);
    let (mut rates, mut costs, mut ratios) = ([vec![], vec![]], [vec![], vec![]], vec![]);
    for _ in 0..ROUNDS {
        for (kind, keys) in [None, Some(Arc::clone(&keys))].into_iter().enumerate() {
            let (began, used) = (Instant::now(), processor_time());
            let added = add(&store, CLIENTS, keys, move |_| began.elapsed() < ROUND).await;
            let added = f64::from(u32::try_from(added).unwrap());
            rates[kind].push(added / began.elapsed().as_secs_f64());
            costs[kind].push((processor_time() - used) / added);
        }
        ratios.push(rates[1].last().unwrap() / rates[0].last().unwrap());
    }
    let [without, with] = rates.map(median);
    let [cost_without, cost_with] = costs.map(median);
    writeln!(
        io::stderr(),
        "additions/s without a key {without:.0} ({cost_without:.1} µs of processor time each), with one \
         {with:.0} ({cost_with:.1} µs); ratio {:.2}",
        median(ratios)
    )
    .unwrap();
}
