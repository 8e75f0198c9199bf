//! A server that stops, dies and comes back.

use std::{
    collections::HashSet,
    sync::{
        Arc,
        atomic::{AtomicBool, Ordering},
    },
    time::{Duration, Instant},
};

use petstore_domain::{AddError, Added, PetId, PetRepository, StoreError};
use petstore_postgres::PostgresStore;
use petstore_testing::{Cluster, Database, Durability, needs};
use tokio::{task::JoinSet, time::timeout};

use crate::support::{
    SLACK, START_TIMEOUT, add, all, grows_by, new_pet, open, query, recovers, request,
};

/// The time limit of a call on a busy machine.
const DEADLINE: Duration = Duration::from_secs(5).saturating_add(SLACK);

async fn all_calls_are_unavailable(store: &PostgresStore) {
    let read = timeout(DEADLINE, PetRepository::list(store, query(20, None))).await.unwrap();
    assert!(matches!(read, Err(StoreError::Unavailable(_))), "{read:?}");
    let written =
        timeout(DEADLINE, PetRepository::add(store, new_pet("lost"), None)).await.unwrap();
    assert!(matches!(written, Err(AddError::Store(StoreError::Unavailable(_)))), "{written:?}");
    assert!(
        timeout(DEADLINE, PetRepository::purge_expired(store, crate::support::NOW, 1))
            .await
            .unwrap()
            .is_err()
    );
}

#[needs(postgres)]
#[tokio::test(flavor = "multi_thread")]
async fn calls_fail_as_unavailable_while_the_server_is_stopped_and_succeed_after_its_start() {
    let cluster = Cluster::start(Durability::Fast).unwrap();
    let store = open(&cluster.url("postgres")).await;
    // Prepares all statements on connections that the stop will break.
    let rex = add(&store, "Rex").await;
    let request = request("before", &new_pet("Rex"));
    PetRepository::add(&store, new_pet("Rex"), Some(request)).await.unwrap();
    assert!(store.find(rex.id).await.unwrap().value.is_some());

    cluster.stop().unwrap();
    all_calls_are_unavailable(&store).await;
    cluster.resume().unwrap();

    recovers(|| store.find(rex.id)).await;
    recovers(|| PetRepository::add(&store, new_pet("Bello"), None)).await;
    assert_eq!(all(&store).await.len(), 3);
    recovers(|| async { store.version().ok_or("no version") }).await;
}

#[needs(postgres)]
#[tokio::test(flavor = "multi_thread")]
async fn a_restart_between_two_calls_is_not_noticed() {
    let cluster = Cluster::start(Durability::Fast).unwrap();
    let store = open(&cluster.url("postgres")).await;
    for round in 0..3 {
        let pet = add(&store, &format!("Rex {round}")).await;
        assert!(store.find(pet.id).await.unwrap().value.is_some());
        cluster.restart().unwrap();
        assert!(store.find(pet.id).await.unwrap().value.is_some());
    }
}

#[needs(postgres)]
#[tokio::test]
async fn an_invalid_statement_is_prepared_again() {
    let database = Database::create().unwrap();
    let store = open(&database.url).await;
    let pet = add(&store, "Rex").await;
    assert!(store.find(pet.id).await.unwrap().value.is_some());
    // The server then answers "cached plan must not change result type".
    database.sql("ALTER TABLE pet ALTER COLUMN name TYPE varchar(300)").unwrap();
    assert_eq!(store.find(pet.id).await.unwrap().value, Some(pet.clone()));
    assert_eq!(add(&store, "Bello").await.id, PetId(2));
}

/// Adds animals until `stop` is set. Returns the identifiers and names of the acknowledged animals. Half of the
/// additions have an idempotency key and are repeated until they are acknowledged.
pub(crate) async fn load(
    store: Arc<PostgresStore>,
    worker: usize,
    stop: Arc<AtomicBool>,
) -> Vec<(PetId, String)> {
    let mut acknowledged = Vec::new();
    let mut number = 0;
    while !stop.load(Ordering::Relaxed) {
        number += 1;
        let name = format!("{worker}-{number}");
        let pet = new_pet(&name);
        let request = (number % 2 == 0).then(|| request(&name, &pet));
        let began = Instant::now();
        loop {
            match PetRepository::add(&*store, pet.clone(), request).await {
                Ok(Added::Created(pet) | Added::Replayed(pet)) => {
                    acknowledged.push((pet.id, name));
                    break;
                }
                Err(AddError::Store(StoreError::Unavailable(_))) if request.is_some() => {
                    assert!(began.elapsed() < START_TIMEOUT, "the store does not come back");
                    tokio::time::sleep(Duration::from_millis(20)).await;
                }
                Err(AddError::Store(StoreError::Unavailable(_))) => break,
                Err(error) => panic!("{error:?}"),
            }
        }
    }
    acknowledged
}

/// Checks that every acknowledged animal is stored under its identifier, and an animal with a key only once.
pub(crate) async fn nothing_is_lost(store: &PostgresStore, acknowledged: &[(PetId, String)]) {
    let there = all(store).await;
    let pairs: HashSet<(i64, &str)> =
        there.iter().map(|pet| (pet.id.0, pet.name.as_str())).collect();
    for (id, name) in acknowledged {
        assert!(pairs.contains(&(id.0, name.as_str())), "{id} {name} is lost");
    }
    let mut names = HashSet::new();
    for pet in &there {
        let has_key = pet
            .name
            .as_str()
            .split_once('-')
            .is_some_and(|(_, number)| number.parse::<u32>().unwrap() % 2 == 0);
        assert!(
            names.insert(pet.name.as_str()) || !has_key,
            "{} is there twice",
            pet.name.as_str()
        );
    }
}

pub(crate) fn start_load(
    store: &Arc<PostgresStore>,
    stop: &Arc<AtomicBool>,
) -> JoinSet<Vec<(PetId, String)>> {
    let workers = (0..32).map(|worker| load(store.clone(), worker, stop.clone()));
    workers.collect()
}

#[needs(postgres)]
#[tokio::test(flavor = "multi_thread")]
async fn a_server_killed_under_load_loses_nothing_acknowledged() {
    let cluster = Cluster::start(Durability::Full).unwrap();
    let store = Arc::new(open(&cluster.url("postgres")).await);
    let stop = Arc::new(AtomicBool::new(false));
    let workers = start_load(&store, &stop);
    for _ in 0..2 {
        grows_by(&store, 200).await;
        cluster.kill9().unwrap();
        cluster.resume().unwrap();
        recovers(|| store.find(PetId(1))).await;
    }
    tokio::time::sleep(Duration::from_millis(300)).await;
    stop.store(true, Ordering::Relaxed);
    let acknowledged = workers.join_all().await.concat();
    assert!(acknowledged.len() > 100, "only {} animals were acknowledged", acknowledged.len());
    nothing_is_lost(&store, &acknowledged).await;
}
