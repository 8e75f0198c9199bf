use std::{collections::HashMap, time::Duration};

use petstore_domain::KeyDigest;
use tokio::{sync::mpsc, task::JoinHandle, time::timeout};

use super::Turns;
use crate::error::ErrorCode;

type Waiting = JoinHandle<Result<(), ErrorCode>>;

fn digest(key: char) -> KeyDigest {
    KeyDigest([key as u8; 32])
}

/// Waits for a turn of `key`, announces it, and ends it.
fn wait(turns: &Turns, key: char, had: &mpsc::UnboundedSender<char>) -> Waiting {
    let (turns, had) = (turns.clone(), had.clone());
    tokio::spawn(async move {
        let turn = turns.next(digest(key)).await.map_err(|error| error.code)?;
        had.send(key).unwrap();
        drop(turn);
        Ok(())
    })
}

/// Lets every task run until it waits.
async fn all_wait() {
    for _ in 0..100 {
        tokio::task::yield_now().await;
    }
}

/// The keys in the order in which they had turns, and how many of each were refused, when these wait
/// in this order for the only turn, behind an addition of `a`.
async fn order(waiting: &str, max_waiting: usize) -> (String, HashMap<char, usize>) {
    let turns = Turns::with_limits(1, max_waiting);
    let (had, mut order) = mpsc::unbounded_channel();
    let first = turns.next(digest('a')).await.unwrap();
    let mut all = Vec::new();
    for key in waiting.chars() {
        all.push((key, wait(&turns, key, &had)));
        all_wait().await;
    }
    drop((first, had));
    let mut refused = HashMap::new();
    for (key, waiting) in all {
        if let Err(code) = waiting.await.unwrap() {
            assert_eq!(code, ErrorCode::Unavailable);
            *refused.entry(key).or_default() += 1;
        }
    }
    let mut keys = String::new();
    while let Some(key) = order.recv().await {
        keys.push(key);
    }
    assert_eq!(turns.lock().free, 1);
    assert_eq!(turns.lock().waiting, 0);
    (keys, refused)
}

#[tokio::test]
async fn keys_have_their_turns_in_a_circle() {
    for (waiting, expected) in
        [("aaaab", "abaaa"), ("aaabbc", "abcaba"), ("baaa", "baaa"), ("aaaa", "aaaa"), ("", "")]
    {
        assert_eq!(order(waiting, 100).await, (expected.to_owned(), HashMap::new()), "{waiting}");
    }
}

#[tokio::test]
async fn when_too_many_wait_the_key_with_most_of_them_is_refused() {
    let table = [
        ("aaaaaa", "aaaa", vec![('a', 2)]),
        ("aaaab", "abaa", vec![('a', 1)]),
        ("aaaabbb", "abab", vec![('a', 2), ('b', 1)]),
        ("aabbc", "abca", vec![('b', 1)]),
    ];
    for (waiting, expected, refused) in table {
        let refused = refused.into_iter().collect();
        assert_eq!(order(waiting, 4).await, (expected.to_owned(), refused), "{waiting}");
    }
}

// The clock moves when nothing else can happen: a turn that is lost fails the test at once.
#[tokio::test(start_paused = true)]
async fn a_turn_is_not_lost_with_one_who_waits_no_more() {
    let turns = Turns::with_limits(1, 10);
    let (had, mut order) = mpsc::unbounded_channel();
    let first = turns.next(digest('a')).await.unwrap();
    let (gone, stays) = (wait(&turns, 'b', &had), wait(&turns, 'c', &had));
    all_wait().await;
    gone.abort();
    assert!(gone.await.is_err());
    drop(first);
    let had_turn = timeout(Duration::from_secs(1), stays).await;
    had_turn.expect("the turn is lost").unwrap().unwrap();
    assert_eq!(order.recv().await, Some('c'));
    assert_eq!(turns.lock().free, 1);
}
