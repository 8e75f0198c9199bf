//! Every call ends, whatever the server or the network does.

use std::{
    net::TcpListener,
    sync::Arc,
    time::{Duration, Instant},
};

use petstore_domain::{
    AddError, Added, Handover as _, KeyId, KeyRevision, KeyStore as _, PetId, PetRepository,
    StoreError,
};
use petstore_postgres::PostgresStore;
use petstore_testing::{Database, needs};
use tokio::{task::JoinSet, time};

use crate::{
    proxy::Proxy,
    support::{NOW, SLACK, add, all, new_pet, open, query, recovers, refusal, request, session},
};

/// Asserts that every call with a deadline fails as unavailable.
async fn calls_are_unavailable(store: &PostgresStore) {
    let (pet, key) = (new_pet("lost"), Some(request("lost", &new_pet("lost"))));
    let written = async {
        match PetRepository::add(store, pet, key).await {
            Err(AddError::Store(error)) => Some(error),
            other => panic!("{other:?}"),
        }
    };
    let failures: [_; 9] = tokio::join!(
        written,
        async { store.list(query(20, None)).await.err() },
        async { store.find(PetId(1)).await.err() },
        async { store.purge_expired(NOW, 1).await.err() },
        async { store.load(None).await.err() },
        async { store.load_changes(None).await.err() },
        async { store.save(KeyRevision(0), Vec::new(), Vec::new()).await.err() },
        async { store.note_uses(vec![(KeyId(1), NOW)]).await.err() },
        async { store.state().await.err() },
    )
    .into();
    for (number, failure) in failures.into_iter().enumerate() {
        assert!(matches!(failure, Some(StoreError::Unavailable(_))), "{number}: {failure:?}");
    }
}

#[needs(postgres)]
#[tokio::test(flavor = "multi_thread")]
async fn calls_that_need_a_locked_table_fail_within_their_deadline() {
    let database = Database::create().unwrap();
    let deadline = "no answer within 700ms";
    for (parameters, reason) in [
        ("statement_timeout=500ms", "due to statement timeout"),
        ("statement_timeout=1min", deadline),
        ("statement_timeout=1min&options=-c%20lock_timeout%3D300ms", "due to lock timeout"),
    ] {
        let store = open(&format!("{}?call_timeout=700ms&{parameters}", database.url)).await;
        let holder = session(&database, "BEGIN; LOCK TABLE pet").await;
        let began = Instant::now();
        let read = store.list(query(20, None)).await.unwrap_err();
        let AddError::Store(written) =
            PetRepository::add(&store, new_pet("lost"), None).await.unwrap_err()
        else {
            panic!("{parameters}")
        };
        for failure in [read, written] {
            assert!(matches!(failure, StoreError::Unavailable(_)), "{failure:?}");
            // On a slow machine, the deadline of the call may be over first.
            let refusal = failure.to_string();
            assert!(refusal.contains(reason) || refusal.contains(deadline), "{refusal}");
        }
        assert!(began.elapsed() < 2 * Duration::from_millis(700) + SLACK, "{parameters}");
        drop(holder);
        recovers(|| PetRepository::add(&store, new_pet("Bello"), None)).await;
    }
}

/// The forgotten transaction holds the lock of the row that every writer locks.
#[needs(postgres)]
#[tokio::test(flavor = "multi_thread")]
async fn the_error_names_a_forgotten_transaction_that_blocks_additions() {
    let database = Database::create().unwrap();
    for parameters in ["pgbouncer=false", "pgbouncer=true"] {
        let url = format!("{}?call_timeout=12s&{parameters}", database.url);
        let (store, other) = (open(&url).await, open(&url).await);
        let insert = "SET application_name = 'forgotten'; BEGIN; \
            INSERT INTO pet (name, category_id) VALUES ('Rex', 1)";
        let forgotten = session(&database, insert).await;
        let pid = forgotten.query_one("SELECT pg_backend_pid()", &[]).await.unwrap();
        let pid: i32 = pid.get(0);
        let waits = |store| PetRepository::add(store, new_pet("Bello"), None);
        let (one, two) = tokio::join!(waits(&store), waits(&other));
        for failed in [one.unwrap_err(), two.unwrap_err()] {
            assert!(matches!(failed, AddError::Store(StoreError::Unavailable(_))), "{failed:?}");
            let cause = failed.to_string();
            let named = format!("due to statement timeout; writes wait for session {pid} of ");
            assert!(cause.contains(&named) && cause.matches("session").count() == 2, "{cause}");
            assert!(cause.contains("(forgotten, idle in transaction, its"), "{cause}");
        }
        drop(forgotten);
        recovers(|| PetRepository::add(&store, new_pet("Rex"), None)).await;
    }
}

/// Returns a server that accepts connections and sends nothing, and its port.
fn silent_server() -> (TcpListener, u16) {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let port = listener.local_addr().unwrap().port();
    (listener, port)
}

#[tokio::test]
async fn silent_servers_are_given_up_and_named() {
    let (_listener, port) = silent_server();
    let (_other_listener, other) = silent_server();
    let url = format!("postgres://u:p@127.0.0.1:{port},127.0.0.1:{other}/d?connect_timeout=700ms");
    let refusal = time::timeout(Duration::from_millis(1200) + SLACK, refusal(&url)).await.unwrap();
    let [first, second] =
        [port, other].map(|port| format!("127.0.0.1:{port}: no answer within 700ms"));
    assert!(refusal.contains(&format!("cannot connect ({first}; {second}); check")), "{refusal}");
}

#[needs(postgres)]
#[tokio::test(flavor = "multi_thread")]
async fn calls_end_within_their_deadline_during_a_partition_and_work_after_it() {
    let database = Database::create().unwrap();
    let network = Proxy::to(&database.url);
    let store =
        Arc::new(open(&format!("{}&call_timeout=3s&connect_timeout=60s", network.url)).await);
    let read_by_eight = || {
        let reads = (0..8).map(|_| {
            let store = store.clone();
            async move { store.list(query(1, None)).await }
        });
        reads.collect::<JoinSet<_>>()
    };
    add(&store, "Rex").await;
    assert!(read_by_eight().join_all().await.iter().all(Result::is_ok));
    network.change();
    let late = async {
        time::sleep(Duration::from_secs(2)).await;
        read_by_eight()
    };
    let calls = async { tokio::join!(calls_are_unavailable(&store), late) };
    let ((), mut late) = time::timeout(Duration::from_secs(3) + SLACK, calls).await.unwrap();
    // The callers of the late reads go away before these reads can notice that their connections are cut.
    late.shutdown().await;
    network.change();
    // No connection from before the repair is used again.
    let reads = read_by_eight().join_all().await;
    assert!(reads.iter().all(Result::is_ok), "{reads:?}");
    recovers(|| PetRepository::add(&*store, new_pet("Bello"), None)).await;
}

#[needs(postgres)]
#[tokio::test(flavor = "multi_thread")]
async fn a_commit_with_a_lost_answer_adds_one_animal() {
    let database = Database::create().unwrap();
    let network = Proxy::to(&database.url);
    let store = open(&network.url).await;
    add(&store, "Rex").await;

    // The second answer is a pooler's, which names no routine. The third one is of a session that was terminated.
    let answers = [
        None,
        Some("SERROR\0VERROR\0C08006\0Mlost\0"),
        Some("SFATAL\0VFATAL\0C57P01\0Mended\0Rdie\0"),
    ];
    for (answer, key) in answers.into_iter().zip(["a", "b", "c"]) {
        let lose =
            |many| answer.map_or_else(|| network.lose_answers(many), |it| network.answer_with(it));
        lose(1);
        let without_key = PetRepository::add(&store, new_pet("Bello"), None).await;
        let is_unavailable =
            matches!(without_key, Err(AddError::Store(StoreError::Unavailable(_))));
        assert!(is_unavailable, "{answer:?}: {without_key:?}");

        lose(2);
        let once = request(key, &new_pet("Hasso"));
        let with_key = PetRepository::add(&store, new_pet("Hasso"), Some(once)).await.unwrap();
        assert!(matches!(with_key, Added::Replayed(_)), "{answer:?}: {with_key:?}");
    }
    add(&store, "Last").await;
    let pets = all(&store).await;
    let names: Vec<&str> = pets.iter().map(|pet| pet.name.as_str()).collect();
    let each = ["Bello", "Hasso"];
    assert_eq!(names, [&["Rex"][..], &each, &each, &each, &["Last"]].concat());
}
