//! A pooler between the store and the server.

use std::sync::Arc;

use petstore_domain::{
    AddError, Added, Archive as _, Pet, PetId, PetRepository, add_key, load_keys,
};
use petstore_postgres::PostgresStore;
use petstore_testing::{Database, Pooler, Pooling, needs};
use tokio::task::JoinSet;

use crate::support::{add, all, new_key, new_pet, open, query, recovers, refusal, request};

/// The number of clients of each of two services.
const CLIENTS: usize = 12;
/// The number of rounds of each client.
const ROUNDS: usize = 5;

/// Adds, repeats and reads. Each answer must belong to its request.
async fn client(store: Arc<PostgresStore>, name: String) -> Result<Vec<Pet>, AddError> {
    let mut added = Vec::new();
    for round in 0..ROUNDS {
        let pet = new_pet(&format!("{name}-{round}"));
        let request = (round % 2 == 0).then(|| request(&format!("{name}-{round}"), &pet));
        let Added::Created(new) = PetRepository::add(&*store, pet.clone(), request).await? else {
            panic!("{name}-{round} was there before")
        };
        if let Some(request) = request {
            let again = PetRepository::add(&*store, pet, Some(request)).await?;
            assert_eq!(again, Added::Replayed(new.clone()));
        }
        assert_eq!(store.find(new.id).await?.value, Some(new.clone()));
        let page = PetRepository::list(&*store, query(3, Some(PetId(new.id.0 - 1)))).await?.value;
        assert_eq!(page.pets[0], new);
        assert!(load_keys(&*store).await?.keys.len() == 1);
        added.push(new);
    }
    Ok(added)
}

/// Checks that no session keeps a setting or a prepared statement of petstore's.
fn nothing_is_left(pooler: &Pooler, database: &Database, case: &str) {
    let left = "SELECT current_setting('statement_timeout'), \
        current_setting('idle_in_transaction_session_timeout'), current_setting('search_path'), \
        (SELECT count(*) FROM pg_prepared_statements)";
    for _ in 0..8 {
        let found = pooler.sql(&database.url, left).unwrap();
        assert_eq!(found.trim(), "0|0|\"$user\", public|0", "{case}");
    }
}

/// Two services call the store through a pooler. Every call succeeds.
#[needs(postgres, pgbouncer)]
#[tokio::test(flavor = "multi_thread")]
async fn two_services_share_the_sessions_of_a_pooler() {
    let timeouts = "pool_timeout=20s&statement_timeout=20s&call_timeout=25s";
    for (pooling, parameters) in [
        (Pooling::Transaction, ""),
        (Pooling::Transaction, "&pgbouncer=true"),
        (Pooling::TransactionWithoutOptions, "&schema=zoo"),
        (Pooling::Session, ""),
        (Pooling::Session, "&pgbouncer=false"),
    ] {
        let case = format!("{pooling:?} {parameters}");
        let database = Database::create().unwrap();
        let pooler = Pooler::start(pooling, &database.url).unwrap();
        // A pooler may lend a session in which another process has left its value.
        let name = database.url.rsplit_once('/').unwrap().1;
        database.sql(&format!("ALTER DATABASE {name} SET petstore.connection = 'old'")).unwrap();
        let url = format!("{}?{timeouts}{parameters}", pooler.url(&database.url));
        let stores = [Arc::new(open(&url).await), Arc::new(open(&url).await)];
        add_key(&*stores[0], new_key(1, "a")).await.unwrap();
        let clients = stores.iter().enumerate().flat_map(|(number, store)| {
            (0..CLIENTS).map(move |index| client(store.clone(), format!("{number}-{index}")))
        });
        let answers = clients.collect::<JoinSet<_>>().join_all().await;
        let failed = answers.iter().find_map(|answer| answer.as_ref().err());
        assert!(failed.is_none(), "{case}: {failed:?}");
        let mut added: Vec<Pet> = answers.into_iter().flatten().flatten().collect();
        added.sort_by_key(|pet| pet.id);
        assert_eq!(all(&stores[0]).await, added, "{case}");
        assert_eq!(added.len(), 2 * CLIENTS * ROUNDS, "{case}");
        let mut snapshot = stores[1].snapshot().await.unwrap();
        assert_eq!(snapshot.counts().await.unwrap().pets, added.len() as u64);
        drop(snapshot);
        nothing_is_left(&pooler, &database, &case);
    }
}

/// A client that needs one more session than the pooler has must wait, and gets no error.
#[needs(postgres, pgbouncer)]
#[tokio::test(flavor = "multi_thread")]
async fn the_writer_gets_a_session_although_reads_use_all_sessions() {
    let database = Database::create().unwrap();
    let pooler = Pooler::start(Pooling::FewSessions, &database.url).unwrap();
    let store = Arc::new(open(&pooler.url(&database.url)).await);
    add(&store, "Rex").await;
    database.disconnect_all().unwrap();
    recovers(async || {
        let reads = (0..4).map(|_| {
            let store = store.clone();
            async move { PetRepository::list(&*store, query(1, None)).await }
        });
        let answers = reads.collect::<JoinSet<_>>().join_all().await;
        let failure = answers.into_iter().find_map(Result::err).map(|error| error.to_string());
        let has_all = failure.is_none() && store.activity().connections == 4;
        if has_all { Ok(()) } else { Err(failure) }
    })
    .await;
    add(&store, "Bello").await;
    add_key(&*store, new_key(1, "web")).await.unwrap();
    // The pool closed connections only to make room.
    for _ in 0..5 {
        assert_eq!(all(&store).await.len(), 2);
    }
    assert!(store.activity().connections > 0);
}

#[needs(postgres, pgbouncer)]
#[tokio::test]
async fn pooling_of_statements_is_refused_in_one_line() {
    let database = Database::create().unwrap();
    let pooler = Pooler::start(Pooling::Statement, &database.url).unwrap();
    let refusal = refusal(&pooler.url(&database.url)).await;
    assert!(refusal.contains("pool_mode to transaction or session"), "{refusal}");
    assert!(!refusal.contains('\n'), "{refusal}");
}
