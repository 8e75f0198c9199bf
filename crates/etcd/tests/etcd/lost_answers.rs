//! A network that loses answers, and another process that writes between two requests.

use std::{
    sync::{
        Arc,
        atomic::{AtomicBool, AtomicU8, AtomicU32, Ordering},
    },
    thread,
    time::Duration,
};

use petstore_domain::{
    Archive as _, ArchiveError, HighestIds, KeyId, KeyStore as _, NewPet, PetId, PetName,
    PetRepository as _, Rows, WriterRole, add_key,
};
use petstore_testing::{Etcd, needs};
use tokio::{runtime::Handle, time::timeout};

use crate::support::{add, new_key, open, page, rex, url};

fn puts(request: &str) -> bool {
    request.contains("request_put")
}

#[needs(etcd)]
#[tokio::test(flavor = "multi_thread")]
async fn an_addition_with_a_lost_answer_is_written_once_and_acknowledged() {
    let etcd = Etcd::start(1).unwrap();
    let lose = Arc::new(AtomicU32::new(1));
    let left = Arc::clone(&lose);
    let is_lost = move |request: &str| {
        let lose = || left.fetch_update(Ordering::SeqCst, Ordering::SeqCst, |n| n.checked_sub(1));
        puts(request) && lose().is_ok()
    };
    let proxy = etcd.proxy(is_lost).unwrap();
    let store = open(&format!("etcd://{proxy},{proxy}/zoo")).await;
    let other = open(&url(&etcd)).await;
    assert!(store.was_created() && !other.was_created());
    let mut added = Vec::new();
    for (lost, is_behind) in [(0, false), (1, false), (3, false), (1, true), (2, false), (2, true)]
    {
        if is_behind {
            // The head in the memory of `store` is then outdated, so its first try loses the comparison.
            added.push(add(&other).await);
        }
        lose.store(lost, Ordering::SeqCst);
        let before = store.version();
        added.push(add(&store).await);
        assert!(store.version().is_none_or(|now| before != Some(now)), "{lost} {is_behind}");
        assert_eq!(lose.load(Ordering::SeqCst), 0);
        assert_eq!(page(&store).await, added);
    }
    assert_eq!(page(&other).await, added);
}

/// The head remembers the last 16 transactions. If an answer is lost beside more others than it remembers, a second
/// addition could be a repeat.
#[needs(etcd)]
#[tokio::test(flavor = "multi_thread")]
async fn an_addition_is_not_repeated_if_the_head_has_forgotten_it() {
    let etcd = Etcd::start(1).unwrap();
    let other = Arc::new(open(&url(&etcd)).await);
    for (others, is_before, is_known) in
        [(15, false, true), (16, false, false), (16, true, true), (17, true, false)]
    {
        let (adder, runtime, puts_seen) =
            (Arc::clone(&other), Handle::current(), AtomicU32::new(0));
        let lose_first = move |request: &str| {
            let number = if puts(request) { puts_seen.fetch_add(1, Ordering::SeqCst) } else { 9 };
            if number == if is_before { 1 } else { 2 } {
                for _ in 0..others {
                    runtime.block_on(add(&adder));
                }
            }
            number == 1
        };
        let proxy = etcd.proxy(lose_first).unwrap();
        let store =
            open(&format!("etcd://{proxy},127.0.0.1:1/zoo?request_timeout=30s&call_timeout=30s"))
                .await;
        // The first addition gives `store` a head to compare, so that the second addition sends one request.
        add(&store).await;
        let before = page(&other).await.len();
        let error = store.add(rex(), None).await.err().map(|error| error.to_string());
        let is_forgotten = error.as_ref().is_some_and(|why| why.contains("too many other writes"));
        assert_eq!((error.is_none(), is_forgotten), (is_known, !is_known), "{others}: {error:?}");
        let is_written = is_known || !is_before;
        assert_eq!(page(&other).await.len(), before + others + usize::from(is_written));
    }
}

#[needs(etcd)]
#[tokio::test(flavor = "multi_thread")]
async fn an_addition_after_each_read_of_the_head_is_kept_and_does_not_hold_up_an_import() {
    let etcd = Etcd::start(1).unwrap();
    let other = Arc::new(open(&url(&etcd)).await);
    let highest = HighestIds { pet: Some(PetId(1_000)), key: None };
    let rows = Rows { highest, ..Rows::default() };
    other.write_rows(WriterRole::Service, rows).await.unwrap();
    let (adder, runtime) = (Arc::clone(&other), Handle::current());
    let (was_of_head, left) = (AtomicBool::new(false), Arc::new(AtomicU32::new(u32::MAX)));
    let adds_left = Arc::clone(&left);
    let add_before = move |request: &str| {
        let ranges = request.matches("request_range").count();
        if was_of_head.swap(!puts(request) && ranges == 1, Ordering::SeqCst)
            && adds_left
                .fetch_update(Ordering::SeqCst, Ordering::SeqCst, |n| n.checked_sub(1))
                .is_ok()
        {
            runtime.block_on(add(&adder));
        }
        false
    };
    let proxy = etcd.proxy(add_before).unwrap();
    let store = open(&format!("etcd://{proxy}/zoo?request_timeout=30s&call_timeout=30s")).await;
    for id in 1..20 {
        let rows = Rows { pets: vec![rex().with_id(PetId(id))], ..Rows::default() };
        let written = store.write_rows(WriterRole::Service, rows);
        assert_eq!(timeout(Duration::from_secs(30), written).await.unwrap().unwrap(), 1);
    }
    // The only addition before the write gets the identifier of the row.
    left.store(1, Ordering::SeqCst);
    let next = PetId(add(&other).await.id.0 + 1);
    let max = NewPet { name: PetName::parse("Max").unwrap(), ..rex() };
    let rows = Rows { pets: vec![max.with_id(next)], ..Rows::default() };
    let refused = store.write_rows(WriterRole::Service, rows).await.unwrap_err();
    assert!(matches!(refused, ArchiveError::OtherPet(id) if id == next), "{refused}");
}

/// Another process opens the store, and later adds an animal and a key, before the first further request of a call.
#[needs(etcd)]
#[tokio::test(flavor = "multi_thread")]
async fn a_call_of_several_requests_is_of_one_moment() {
    let etcd = Etcd::start(1).unwrap();
    let (url, runtime, seed) = (url(&etcd), Handle::current(), AtomicU8::new(0));
    let is_next = Arc::new(AtomicBool::new(true));
    let may_act = is_next.clone();
    let act_before = move |request: &str| {
        if request.starts_with("POST /v3/kv/range") && may_act.swap(false, Ordering::SeqCst) {
            runtime.block_on(async {
                let other = open(&url).await;
                add(&other).await;
                let seed = seed.fetch_add(1, Ordering::SeqCst);
                add_key(&other, new_key(seed)).await.unwrap();
            });
        }
        false
    };
    let proxy = etcd.proxy(act_before).unwrap();
    let store = open(&format!("etcd://{proxy}/zoo?request_timeout=30s&call_timeout=30s")).await;
    assert!(!store.was_created() && !is_next.load(Ordering::SeqCst));

    is_next.store(true, Ordering::SeqCst);
    let keys = store.load(None).await.unwrap().unwrap();
    assert_eq!((keys.keys.len(), keys.next_id), (1, KeyId(2)));
    is_next.store(true, Ordering::SeqCst);
    let changes = store.load_changes(None).await.unwrap();
    assert_eq!((changes.rows.len(), changes.sum), (2, 2));
    is_next.store(true, Ordering::SeqCst);
    let keys = Rows { keys: vec![new_key(3).with_id(KeyId(9))], ..Rows::default() };
    let twice = store.write_rows(WriterRole::Service, keys).await;
    assert!(matches!(twice, Err(ArchiveError::Conflict { .. })), "{twice:?}");

    // The first request of a list looks at 808 identifiers.
    let rows = Rows { pets: vec![rex().with_id(PetId(809))], ..Rows::default() };
    store.write_rows(WriterRole::Service, rows).await.unwrap();
    let before = page(&store).await;
    assert_eq!((before.len(), before[4].id), (5, PetId(809)));
    is_next.store(true, Ordering::SeqCst);
    assert_eq!(page(&store).await, before);
    assert_eq!(page(&store).await.len(), 6);
}

/// A node has more time for a large request, because etcd's gateway takes long for each byte.
#[needs(etcd)]
#[tokio::test(flavor = "multi_thread")]
async fn a_large_request_is_sent_once_although_its_answer_comes_after_the_request_timeout() {
    let etcd = Etcd::start(1).unwrap();
    let sent = Arc::new(AtomicU32::new(0));
    let count = sent.clone();
    let slow = move |request: &str| {
        if request.len() > 1_000_000 {
            count.fetch_add(1, Ordering::SeqCst);
            thread::sleep(Duration::from_millis(400));
        }
        false
    };
    let proxy = etcd.proxy(slow).unwrap();
    let store = open(&format!("etcd://{proxy}/zoo?request_timeout=300ms&call_timeout=30s")).await;
    let pet = NewPet { name: PetName::parse("🐕".repeat(255)).unwrap(), ..rex() };
    let pets = (1..=700).map(|id| pet.clone().with_id(PetId(id))).collect();
    let rows = Rows { pets, ..Rows::default() };
    assert_eq!(store.write_rows(WriterRole::Service, rows).await.unwrap(), 700);
    assert_eq!(sent.load(Ordering::SeqCst), 1);
}
