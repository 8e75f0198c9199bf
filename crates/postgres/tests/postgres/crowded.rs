//! A server that allows fewer connections than the pool wants.

use std::sync::Arc;

use petstore_domain::{Archive as _, PetId, PetRepository, add_key};
use petstore_testing::{Database, needs};
use tokio::{task::JoinSet, time};

use crate::support::{Role, SLACK, add, all, new_key, new_pet, open, query, request};

/// The connection limit of the role.
const LIMIT: usize = 4;

#[needs(postgres)]
#[tokio::test(flavor = "multi_thread")]
async fn calls_share_the_connections_that_the_server_allows() {
    let database = Database::create().unwrap();
    drop(open(&database.url).await);
    let role = Role::new(&database);
    database.sql(&format!("ALTER ROLE {} CONNECTION LIMIT {LIMIT}", role.name)).unwrap();
    let timeouts = "pool_timeout=20s&statement_timeout=20s&call_timeout=25s";
    let store = Arc::new(open(&format!("{}?{timeouts}", role.url())).await);
    // Reads until the pool has every connection. The connection that opened the store may still be closing.
    while store.activity().connections < LIMIT {
        let reads = (0..240).map(|_| {
            let store = store.clone();
            async move { store.list(query(1, None)).await }
        });
        let answers = reads.collect::<JoinSet<_>>().join_all().await;
        let refused: Vec<_> = answers.into_iter().filter_map(Result::err).collect();
        assert!(refused.is_empty(), "{}: {:?}", refused.len(), refused.first());
    }
    // Calls that need a connection outside of the pool still get one.
    add(&store, "Rex").await;
    let with_key = request("k", &new_pet("Rex"));
    PetRepository::add(&*store, new_pet("Rex"), Some(with_key)).await.unwrap();
    // A repeat changes no animal, so it keeps the version.
    let version = store.find(PetId(1)).await.unwrap().version;
    PetRepository::add(&*store, new_pet("Rex"), Some(with_key)).await.unwrap();
    assert_eq!(store.find(PetId(1)).await.unwrap().version, version);
    add_key(&*store, new_key(1, "web")).await.unwrap();
    store.snapshot().await.unwrap().counts().await.unwrap();
    assert_eq!(all(&store).await.len(), 2);
    database.sql(&format!("ALTER ROLE {} CONNECTION LIMIT -1", role.name)).unwrap();
    let hasty = open(&format!("{}?pool_timeout=300ms", role.url())).await;
    hasty.list(query(1, None)).await.unwrap();
    database.sql(&format!("ALTER ROLE {} CONNECTION LIMIT 0", role.name)).unwrap();
    let opened = time::timeout(SLACK, hasty.snapshot()).await.unwrap();
    let refused = opened.map(drop).unwrap_err();
    for refused in [refused, hasty.list(query(1, None)).await.unwrap_err()] {
        assert!(refused.to_string().contains("too many connections for role"), "{refused}");
    }
}
