//! Connections and statements that break between two calls, and a standby that is promoted.

use std::sync::Arc;

use petstore_domain::{Added, PetRepository};
use petstore_postgres::PostgresConfig;
use petstore_testing::{Cluster, Database, Durability, needs};

use crate::support::{add, all, cancel_wait, new_pet, open, recovers, request};

#[needs(postgres)]
#[tokio::test(flavor = "multi_thread")]
async fn a_broken_connection_or_statement_is_not_noticed() {
    let database = Database::create().unwrap();
    let store = open(&database.url).await;
    let pet = add(&store, "Rex").await;
    // After the change of the table, the server answers "cached plan must not change result type".
    let change = || database.sql("ALTER TABLE pet ALTER COLUMN name TYPE varchar(300)").map(drop);
    for breaks in [&|| database.disconnect_all() as Result<(), String>, &change as &dyn Fn() -> _] {
        assert!(store.find(pet.id).await.unwrap().value.is_some());
        breaks().unwrap();
        assert_eq!(store.find(pet.id).await.unwrap().value, Some(pet.clone()));
        breaks().unwrap();
        add(&store, "Bello").await;
    }
    assert_eq!(all(&store).await.len(), 3);
}

#[needs(postgres)]
#[tokio::test(flavor = "multi_thread")]
async fn a_promoted_standby_is_found_and_has_an_addition_whose_wait_was_canceled() {
    let primary = Cluster::start(Durability::Fast).unwrap();
    let standby = primary.standby().unwrap();
    let (first, second) = (standby.port(), primary.port());
    let hosts = format!("127.0.0.1:{first},127.0.0.1:{second}");
    let url = format!("postgres://petstore:secret@{hosts}/postgres?call_timeout=30s");
    // The standby, which is named first, is skipped.
    let store = Arc::new(open(&url).await);
    let rex = add(&store, "Rex").await;

    standby.stop().unwrap();
    let (writer, pet) = (store.clone(), new_pet("Bello"));
    let key = Some(request("k", &pet));
    let with_key = tokio::spawn(async move { PetRepository::add(&*writer, pet, key).await });
    cancel_wait(&primary);
    standby.resume().unwrap();
    let answer = with_key.await.unwrap().unwrap();
    assert!(matches!(answer, Added::Replayed(_)), "{answer:?}");

    // The standby is a copy of the server, but another store.
    let identity = async |port: u16| {
        let parameters = "postgres?target_session_attrs=any";
        let url = format!("postgres://petstore:secret@127.0.0.1:{port}/{parameters}");
        PostgresConfig::parse(&url).unwrap().identity().await.unwrap()
    };
    assert_ne!(identity(first).await, identity(second).await);
    primary.kill9().unwrap();
    standby.promote().unwrap();
    recovers(|| store.find(rex.id)).await;
    recovers(|| PetRepository::add(&*store, new_pet("Hasso"), None)).await;
    let pets = all(&store).await;
    let names: Vec<&str> = pets.iter().map(|pet| pet.name.as_str()).collect();
    assert_eq!(names, ["Rex", "Bello", "Hasso"]);
}
