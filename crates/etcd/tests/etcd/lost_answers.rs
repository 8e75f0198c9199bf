//! A network that loses answers, nodes that refuse a transaction, and another process that writes between two requests.

use std::{
    io::{Read, Write as _},
    net::{TcpListener, TcpStream},
    sync::{
        Arc,
        atomic::{AtomicBool, AtomicU32, Ordering},
    },
    thread,
    time::Duration,
};

use petstore_domain::{
    Archive as _, HighestIds, IdempotencyId, IdempotencyRequest, NewPet, PetId, PetRepository as _,
    PetStatus, Rows, Timestamp, WriterRole,
};
use petstore_testing::{Etcd, needs};
use tokio::{runtime::Handle, time::timeout};

use crate::support::{add, open, page, rex, url};

/// The fate of a request.
enum Fate {
    Answered,
    /// The node carries the request out, but the answer is lost.
    AnswerLost,
    /// The proxy refuses the request in the place of the node.
    Refused,
}

/// Returns the fate of a request before the node gets it.
type Fates = dyn Fn(&str) -> Fate + Send + Sync;

fn puts(request: &str) -> bool {
    request.contains("request_put")
}

/// Starts a proxy to a node, with one thread for each connection. Returns the proxy's address.
fn proxy(node: String, fates: Arc<Fates>) -> String {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = listener.local_addr().unwrap().to_string();
    thread::spawn(move || {
        for client in listener.incoming() {
            let (client, node, fates) = (client.unwrap(), node.clone(), Arc::clone(&fates));
            thread::spawn(move || forward(client, &node, &*fates));
        }
    });
    address
}

fn forward(mut client: TcpStream, node: &str, fates: &Fates) {
    let mut node = TcpStream::connect(node).unwrap();
    while let Some(request) = message(&mut client) {
        let fate = fates(&String::from_utf8_lossy(&request));
        if matches!(fate, Fate::Refused) {
            let body = r#"{"code":3,"message":"refused"}"#;
            let head =
                format!("HTTP/1.1 400 Bad Request\r\nContent-Length: {}\r\n\r\n", body.len());
            client.write_all((head + body).as_bytes()).unwrap();
            continue;
        }
        node.write_all(&request).unwrap();
        let answer = message(&mut node).unwrap();
        if matches!(fate, Fate::AnswerLost) {
            return;
        }
        client.write_all(&answer).unwrap();
    }
}

/// Reads a message with its head and body. Returns `None` at the end of the stream.
fn message(stream: &mut impl Read) -> Option<Vec<u8>> {
    let (mut all, mut byte) = (Vec::new(), [0]);
    while !all.ends_with(b"\r\n\r\n") {
        stream.read_exact(&mut byte).ok()?;
        all.push(byte[0]);
    }
    let head = String::from_utf8_lossy(&all).to_lowercase();
    if let Some(length) = head.split("content-length: ").nth(1) {
        let mut body = vec![0; length.split("\r\n").next()?.parse().ok()?];
        stream.read_exact(&mut body).ok()?;
        all.extend(body);
    } else {
        while !all.ends_with(b"\r\n0\r\n\r\n") {
            stream.read_exact(&mut byte).ok()?;
            all.push(byte[0]);
        }
    }
    Some(all)
}

#[needs(etcd)]
#[tokio::test(flavor = "multi_thread")]
async fn an_addition_with_a_lost_answer_is_written_once_and_acknowledged() {
    let etcd = Etcd::start(1).unwrap();
    let lose = Arc::new(AtomicU32::new(0));
    let left = Arc::clone(&lose);
    let fates = move |request: &str| {
        let lose = || left.fetch_update(Ordering::SeqCst, Ordering::SeqCst, |n| n.checked_sub(1));
        if puts(request) && lose().is_ok() { Fate::AnswerLost } else { Fate::Answered }
    };
    let proxy = proxy(etcd.endpoints(), Arc::new(fates));
    let (store, other) = (open(&format!("etcd://{proxy}/zoo")).await, open(&url(&etcd)).await);
    let mut added = Vec::new();
    for (lost, is_behind) in [(0, false), (1, false), (3, false), (1, true), (2, false), (2, true)]
    {
        if is_behind {
            // The head in the memory of `store` is then outdated, so its first try loses the comparison.
            added.push(add(&other).await);
        }
        lose.store(lost, Ordering::SeqCst);
        added.push(add(&store).await);
        assert_eq!(lose.load(Ordering::SeqCst), 0);
        assert_eq!(page(&store).await, added);
    }
    assert_eq!(page(&other).await, added);
}

/// A transaction holds at most 128 additions, so no more than these fail.
#[needs(etcd)]
#[tokio::test(flavor = "multi_thread")]
async fn a_failed_transaction_fails_its_own_additions_alone() {
    let etcd = Etcd::start(1).unwrap();
    let transactions = Arc::new(AtomicU32::new(0));
    let count = Arc::clone(&transactions);
    let fates = move |request: &str| {
        let is_third = puts(request) && count.fetch_add(1, Ordering::SeqCst) == 2;
        if is_third { Fate::Refused } else { Fate::Answered }
    };
    let proxy = proxy(etcd.endpoints(), Arc::new(fates));
    // The first transaction creates the store, and the second one holds the first addition. On a busy machine, a
    // large transaction takes longer than a call may by default.
    let patient = format!("etcd://{proxy}/zoo?request_timeout=60s&call_timeout=60s");
    let store = Arc::new(open(&patient).await);
    let add_one = |key: u16| {
        let store = Arc::clone(&store);
        async move {
            let pet = NewPet { status: Some(PetStatus::Sold), ..rex() };
            let id = IdempotencyId(u128::from(key).to_be_bytes());
            store.add(pet.clone(), Some(IdempotencyRequest::new(id, &pet, Timestamp(5)))).await
        }
    };
    let adding: Vec<_> = (0..300).map(|key| tokio::spawn(add_one(key))).collect();
    let mut failed = 0;
    for added in adding {
        failed += u32::from(added.await.unwrap().is_err());
    }
    assert!((1..=128).contains(&failed), "{failed} failed");
    let found = store.snapshot().await.unwrap().counts().await.unwrap();
    assert_eq!((found.pets, found.records), (u64::from(300 - failed), u64::from(300 - failed)));
}

#[needs(etcd)]
#[tokio::test(flavor = "multi_thread")]
async fn an_addition_after_each_read_of_the_head_does_not_hold_up_an_import() {
    let etcd = Etcd::start(1).unwrap();
    let other = Arc::new(open(&url(&etcd)).await);
    let highest = HighestIds { pet: Some(PetId(1_000)), key: None };
    let rows = Rows { highest, ..Rows::default() };
    other.write_rows(WriterRole::Service, rows).await.unwrap();
    let (adder, runtime) = (Arc::clone(&other), Handle::current());
    let was_of_head = AtomicBool::new(false);
    let fates = move |request: &str| {
        let ranges = request.matches("request_range").count();
        if was_of_head.swap(!puts(request) && ranges == 1, Ordering::SeqCst) {
            runtime.block_on(add(&adder));
        }
        Fate::Answered
    };
    let store = open(&format!("etcd://{}/zoo", proxy(etcd.endpoints(), Arc::new(fates)))).await;
    for id in 1..20 {
        let rows = Rows { pets: vec![rex().with_id(PetId(id))], ..Rows::default() };
        let written = store.write_rows(WriterRole::Service, rows);
        assert_eq!(timeout(Duration::from_secs(30), written).await.unwrap().unwrap(), 1);
    }
    assert!(add(&other).await.id > PetId(1_001));
}

/// Another process adds an animal between the first and the second request of a list.
#[needs(etcd)]
#[tokio::test(flavor = "multi_thread")]
async fn a_list_in_two_requests_shows_the_animals_of_one_moment() {
    let etcd = Etcd::start(1).unwrap();
    let other = Arc::new(open(&url(&etcd)).await);
    // The list finds no animal in its first request, which looks at few identifiers.
    let highest = HighestIds { pet: Some(PetId(10_000)), key: None };
    let rows = Rows { highest, ..Rows::default() };
    other.write_rows(WriterRole::Service, rows).await.unwrap();
    add(&other).await;
    let (adder, runtime) = (Arc::clone(&other), Handle::current());
    let fates = move |request: &str| {
        if request.starts_with("POST /v3/kv/range") {
            runtime.block_on(add(&adder));
        }
        Fate::Answered
    };
    let store = open(&format!("etcd://{}/zoo", proxy(etcd.endpoints(), Arc::new(fates)))).await;
    let before = page(&other).await;
    assert_eq!(page(&store).await, before);
    assert!(page(&other).await.len() > before.len());
}
