//! Every call ends, whatever the server or the network does.

use std::{
    error::Error,
    io::{ErrorKind, Read as _, Write as _},
    net::{Shutdown, TcpListener, TcpStream},
    process::{Child, Command, Stdio},
    sync::{
        Arc,
        atomic::{AtomicUsize, Ordering},
    },
    thread,
    time::{Duration, Instant},
};

use petstore_domain::{
    AddError, KeyName, KeySelector, PetRepository, StoreError, add_key, revoke_keys,
};
use petstore_postgres::{PostgresConfig, PostgresStore};
use petstore_testing::{Database, EndOnDrop, needs};
use tokio::task::JoinSet;

use crate::support::{NOW, SLACK, add, new_key, new_pet, open, query, recovers};

const LOCK: &str = "BEGIN; LOCK TABLE pet, idempotency; SELECT pg_sleep(3600)";

/// Locks the tables of animals and records until [`unlock`].
async fn lock(database: &Database) -> EndOnDrop<Child> {
    let mut psql = Command::new("psql");
    psql.args(["-X", "-q", "-c", LOCK, &database.url]).stderr(Stdio::null());
    let holder = EndOnDrop::new(psql.spawn().unwrap());
    let held = "SELECT count(*) FROM pg_locks JOIN pg_database ON oid = database \
        WHERE datname = current_database() AND relation = 'idempotency'::regclass \
        AND mode = 'AccessExclusiveLock' AND granted";
    recovers(async || {
        (database.sql(held)?.trim() == "1").then_some(()).ok_or("no lock".to_owned())
    })
    .await;
    holder
}

fn unlock(database: &Database, mut holder: EndOnDrop<Child>) {
    let end = "SELECT pg_terminate_backend(pid) FROM pg_stat_activity \
        WHERE datname = current_database() AND query = $$";
    database.sql(&format!("{end}{LOCK}$$")).unwrap();
    holder.exit().unwrap();
}

#[needs(postgres)]
#[tokio::test(flavor = "multi_thread")]
async fn calls_that_need_a_locked_table_fail_within_their_deadline() {
    let database = Database::create().unwrap();
    let store = open(&format!("{}?call_timeout=700ms&statement_timeout=500ms", database.url)).await;
    add(&store, "Rex").await;
    let holder = lock(&database).await;
    let began = Instant::now();
    let read = PetRepository::list(&store, query(20, None)).await;
    assert!(matches!(read, Err(StoreError::Unavailable(_))), "{read:?}");
    let written = PetRepository::add(&store, new_pet("Bello"), None).await;
    assert!(matches!(written, Err(AddError::Store(StoreError::Unavailable(_)))), "{written:?}");
    assert!(began.elapsed() < 2 * Duration::from_millis(700) + SLACK, "{:?}", began.elapsed());
    unlock(&database, holder);
    recovers(|| PetRepository::add(&store, new_pet("Bello"), None)).await;
}

/// The forgotten transaction holds the lock of the row that every writer locks.
#[needs(postgres)]
#[tokio::test(flavor = "multi_thread")]
async fn the_error_names_a_forgotten_transaction_that_blocks_additions() {
    let database = Database::create().unwrap();
    for parameters in ["pgbouncer=false", "pgbouncer=true"] {
        let url = format!("{}?statement_timeout=3s&{parameters}", database.url);
        let (store, other) = (open(&url).await, open(&url).await);
        add(&store, "Rex").await;
        let mut psql = Command::new("psql");
        psql.args(["-X", "-q", "-d", &database.url]).env("PGAPPNAME", "forgotten");
        let mut psql = EndOnDrop::new(psql.stdin(Stdio::piped()).spawn().unwrap());
        let insert = b"BEGIN; INSERT INTO pet (name, category_id) VALUES ('Rex', 1);\n";
        psql.stdin.as_mut().unwrap().write_all(insert).unwrap();
        let pid = "SELECT pid FROM pg_stat_activity WHERE application_name = 'forgotten' \
            AND state = 'idle in transaction' AND query LIKE 'INSERT%'";
        let pid = recovers(async || {
            let pid = database.sql(pid)?.trim().to_owned();
            if pid.is_empty() { Err("no idle transaction".to_owned()) } else { Ok(pid) }
        })
        .await;
        let waits = |store| PetRepository::add(store, new_pet("Bello"), None);
        let (one, two) = tokio::join!(waits(&store), waits(&other));
        for failed in [one.unwrap_err(), two.unwrap_err()] {
            assert!(matches!(failed, AddError::Store(StoreError::Unavailable(_))), "{failed:?}");
            let cause = failed.to_string();
            let named = format!("writes wait for session {pid} of the role ");
            assert!(cause.contains(&named) && cause.matches("session").count() == 2, "{cause}");
            assert!(cause.contains("(forgotten, idle in transaction, its"), "{cause}");
        }
        database.sql(&format!("SELECT pg_terminate_backend({pid})")).unwrap();
        drop(psql.stdin.take());
        psql.exit().unwrap();
        recovers(async || PetRepository::add(&store, new_pet("Rex"), None).await).await;
    }
}

#[needs(postgres)]
#[tokio::test(flavor = "multi_thread")]
async fn a_change_of_keys_waits_for_a_change_by_another_instance() {
    let database = Database::create().unwrap();
    let url = format!("{}?call_timeout=20s&statement_timeout=19s", database.url);
    let (one, other) = (open(&url).await, open(&url).await);
    let name = KeyName::parse("web").unwrap();
    add_key(&one, new_key(1, "web")).await.unwrap();
    let guard = "BEGIN; SELECT 1 FROM petstore_state FOR UPDATE; SELECT pg_sleep(3600)";
    let mut psql = Command::new("psql");
    psql.args(["-X", "-q", "-c", guard, &database.url]).stdout(Stdio::null()).stderr(Stdio::null());
    let mut holder = EndOnDrop::new(psql.spawn().unwrap());
    let waiting = "SELECT count(*) FROM pg_stat_activity \
        WHERE datname = current_database() AND wait_event_type = 'Lock'";
    let wait_for = async |expected: &str| {
        recovers(async || {
            let waits = database.sql(waiting)?.trim() == expected;
            waits.then_some(()).ok_or("another number of sessions waits for the lock".to_owned())
        })
        .await;
    };
    let held = "SELECT count(*) FROM pg_stat_activity \
        WHERE datname = current_database() AND wait_event = 'PgSleep'";
    recovers(async || {
        (database.sql(held)?.trim() == "1").then_some(()).ok_or("no lock".to_owned())
    })
    .await;
    let add = tokio::spawn(async move { add_key(&one, new_key(2, "two")).await.map(drop) });
    wait_for("1").await;
    let revoke =
        tokio::spawn(async move { revoke_keys(&other, KeySelector::Name(name), NOW).await });
    wait_for("2").await;
    let end = "SELECT pg_terminate_backend(pid) FROM pg_stat_activity \
        WHERE datname = current_database() AND wait_event = 'PgSleep'";
    database.sql(end).unwrap();
    holder.exit().unwrap();
    add.await.unwrap().unwrap();
    assert_eq!(revoke.await.unwrap().unwrap().len(), 1);
}

#[needs(postgres)]
#[tokio::test(flavor = "multi_thread")]
async fn a_reader_without_a_connection_is_refused_before_its_deadline() {
    let database = Database::create().unwrap();
    let url = format!("{}?pool_size=1&pool_timeout=300ms&statement_timeout=2s", database.url);
    let store = open(&url).await;
    let holder = lock(&database).await;
    let list = || PetRepository::list(&store, query(20, None));
    let ends = tokio::join!(list(), list());
    let why = |end: Result<_, _>| Error::source(&end.unwrap_err()).unwrap().to_string();
    assert_eq!(why(ends.1), "no connection was free within 300ms");
    assert!(why(ends.0).contains("statement timeout"));
    unlock(&database, holder);
}

/// Returns a server that accepts connections and sends nothing, and its port.
fn silent_server() -> (TcpListener, u16) {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let port = listener.local_addr().unwrap().port();
    (listener, port)
}

#[tokio::test]
async fn a_silent_server_is_given_up() {
    let (_listener, port) = silent_server();
    let url = format!("postgres://u:p@127.0.0.1:{port}/d?connect_timeout=300ms");
    let began = Instant::now();
    let refused = PostgresStore::connect(&PostgresConfig::parse(&url).unwrap()).await;
    assert!(refused.unwrap_err().to_string().contains("no answer within 300ms"));
    assert!(began.elapsed() < Duration::from_millis(300) + SLACK, "{:?}", began.elapsed());
}

#[needs(postgres)]
#[tokio::test(flavor = "multi_thread")]
async fn a_silent_host_does_not_delay_the_next_host() {
    let database = Database::create().unwrap();
    let (silent, port) = silent_server();
    let url = database.url.replace('@', &format!("@127.0.0.1:{port},"));
    let began = Instant::now();
    let store = open(&format!("{url}?connect_timeout=60s")).await;
    assert!(began.elapsed() < Duration::from_secs(30), "{:?}", began.elapsed());
    silent.set_nonblocking(true).unwrap();
    assert!(silent.incoming().map_while(Result::ok).count() > 0, "the silent host was not tried");
    // From now on the host that answered is tried first.
    add(&store, "Rex").await;
    let waiting = silent.accept().map_err(|error| error.kind());
    assert_eq!(waiting.unwrap_err(), ErrorKind::WouldBlock, "the silent host was tried again");
}

#[needs(postgres)]
#[tokio::test(flavor = "multi_thread")]
async fn more_readers_than_connections_take_turns() {
    let database = Database::create().unwrap();
    let url = format!("{}?pool_size=2&pool_timeout=20s&call_timeout=25s", database.url);
    let store = Arc::new(open(&url).await);
    add(&store, "Rex").await;
    let reads = (0..200).map(|_| {
        let store = store.clone();
        async move { PetRepository::list(&*store, query(20, None)).await.map(drop) }
    });
    let reads: JoinSet<_> = reads.collect();
    assert!(reads.join_all().await.iter().all(Result::is_ok));
}

/// A proxy to a server. The test can cut the network there, as a firewall would: bytes are lost, and a connection from
/// before or during the cut stays silent for good.
struct Network {
    port: u16,
    /// The number of cuts and repairs. The network is cut while the number is odd.
    changes: Arc<AtomicUsize>,
}

impl Network {
    fn to(server: &str) -> Self {
        let (listener, port) = silent_server();
        let changes = Arc::new(AtomicUsize::new(0));
        let (server, state) = (server.to_owned(), changes.clone());
        thread::spawn(move || {
            for client in listener.incoming().map_while(Result::ok) {
                let Ok(upstream) = TcpStream::connect(&server) else { continue };
                let begun = state.load(Ordering::SeqCst);
                for (from, to) in [(&client, &upstream), (&upstream, &client)] {
                    let (from, to) = (from.try_clone().unwrap(), to.try_clone().unwrap());
                    let state = state.clone();
                    let is_cut = move || begun % 2 == 1 || state.load(Ordering::SeqCst) != begun;
                    thread::spawn(move || pump(from, to, is_cut));
                }
            }
        });
        Self { port, changes }
    }

    /// Cuts the network, or repairs it after a cut.
    fn change(&self) {
        self.changes.fetch_add(1, Ordering::SeqCst);
    }
}

fn pump(mut from: TcpStream, mut to: TcpStream, is_cut: impl Fn() -> bool) {
    let mut buffer = [0; 16384];
    while let Ok(length @ 1..) = from.read(&mut buffer) {
        if !is_cut() && to.write_all(&buffer[..length]).is_err() {
            break;
        }
    }
    if !is_cut() {
        let _ = to.shutdown(Shutdown::Both);
    }
}

/// Returns a network to the database, and a store that is reached through the network.
async fn partitioned(database: &Database, query: &str) -> (Network, Arc<PostgresStore>) {
    let address = database.url.split_once('@').unwrap().1;
    let (server, name) = address.split_once('/').unwrap();
    let network = Network::to(server);
    let here = format!("petstore:secret@127.0.0.1:{}", network.port);
    let store = open(&format!("postgres://{here}/{name}?sslmode=disable{query}")).await;
    (network, Arc::new(store))
}

#[needs(postgres)]
#[tokio::test(flavor = "multi_thread")]
async fn calls_end_within_their_deadline_during_a_partition_and_work_after_it() {
    let database = Database::create().unwrap();
    let (network, store) = partitioned(&database, "").await;
    let rex = add(&store, "Rex").await;
    let read_by_eight = || {
        let reads = (0..8).map(|_| {
            let store = store.clone();
            async move { store.find(rex.id).await }
        });
        reads.collect::<JoinSet<_>>().join_all()
    };
    assert!(read_by_eight().await.iter().all(Result::is_ok));
    network.change();
    let began = Instant::now();
    let (read, written) = tokio::join!(
        PetRepository::list(&*store, query(20, None)),
        PetRepository::add(&*store, new_pet("lost"), None)
    );
    assert!(matches!(read, Err(StoreError::Unavailable(_))), "{read:?}");
    assert!(matches!(written, Err(AddError::Store(StoreError::Unavailable(_)))), "{written:?}");
    assert!(began.elapsed() < Duration::from_secs(5) + SLACK, "{:?}", began.elapsed());
    network.change();
    recovers(|| store.find(rex.id)).await;
    // One call has failed because of the cut. Now no connection from before the cut is used again.
    let reads = read_by_eight().await;
    assert!(reads.iter().all(Result::is_ok), "{reads:?}");
    recovers(|| PetRepository::add(&*store, new_pet("Bello"), None)).await;
}

#[needs(postgres)]
#[tokio::test(flavor = "multi_thread")]
async fn a_connection_in_use_during_an_outage_is_not_used_again() {
    let database = Database::create().unwrap();
    let (network, store) = partitioned(&database, "&call_timeout=3s").await;
    let read = || {
        let store = store.clone();
        tokio::spawn(async move { PetRepository::list(&*store, query(1, None)).await.map(drop) })
    };
    let (one, other) = (read(), read());
    assert!(one.await.unwrap().is_ok() && other.await.unwrap().is_ok());
    network.change();
    let first = read();
    tokio::time::sleep(Duration::from_secs(2)).await;
    let second = read();
    assert!(first.await.unwrap().is_err());
    // The caller of the second read goes away before the read can notice that its connection is cut.
    second.abort();
    assert!(second.await.is_err());
    network.change();
    read().await.unwrap().unwrap();
}
