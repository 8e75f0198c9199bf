use std::{net::SocketAddr, num::NonZeroU32, time::Duration};

use futures::join_all;
use tokio::time::{Instant, advance};

use super::{FailedAuthLimit, MAX_DELAY, MAX_DELAYED, SERVING, Source};
use crate::request::Peer;

mod futures {
    /// What all of them come to, run at the same time.
    pub(super) async fn join_all<F>(all: impl IntoIterator<Item = F>) -> Vec<F::Output>
    where
        F: Future<Output: Send + 'static> + Send + 'static,
    {
        let tasks: Vec<_> = all.into_iter().map(tokio::spawn).collect();
        let mut outputs = Vec::new();
        for task in tasks {
            outputs.push(task.await.unwrap());
        }
        outputs
    }
}

fn limit(per_second: u32) -> &'static FailedAuthLimit {
    Box::leak(Box::new(FailedAuthLimit::new(NonZeroU32::new(per_second))))
}

fn source(address: &str) -> Source {
    Peer::from(SocketAddr::new(address.parse().unwrap(), 1)).into()
}

/// How many of so many failures at once are answered 401 and 429.
async fn failures(limit: &'static FailedAuthLimit, address: &str, count: usize) -> (usize, usize) {
    let source = source(address);
    let all = join_all((0..count).map(|_| limit.wait(source))).await;
    let refused = all.iter().filter(|outcome| outcome.is_err()).count();
    (count - refused, refused)
}

#[test]
fn an_address_is_that_of_ipv4_or_the_network_of_ipv6() {
    assert_eq!(source("2001:db8:1:2::1"), source("2001:db8:1:2:3:4:5:6"));
    assert_ne!(source("2001:db8:1:2::1"), source("2001:db8:1:3::1"));
    assert_ne!(source("192.0.2.1"), source("192.0.2.2"));
    assert_eq!(source("::ffff:192.0.2.1"), source("192.0.2.1"));
}

#[tokio::test(start_paused = true)]
async fn failures_are_limited_while_good_keys_are_served() {
    let limit = limit(100);
    let began = Instant::now();
    assert_eq!(failures(limit, "192.0.2.1", 5000).await, (5000, 0), "there is nobody to protect");
    assert_eq!(began.elapsed(), Duration::ZERO);

    limit.note_success();
    // A second's worth at once, as much as fits into the delay, and no more.
    assert_eq!(failures(limit, "192.0.2.1", 500).await, (110, 390));
    let took = began.elapsed();
    assert!(took >= MAX_DELAY && took < 2 * MAX_DELAY, "{took:?}");
    assert_eq!(failures(limit, "192.0.2.2", 50).await, (50, 0), "another address");

    advance(SERVING).await;
    assert_eq!(failures(limit, "192.0.2.1", 5000).await, (5000, 0));
}

#[tokio::test(start_paused = true)]
async fn a_steady_client_is_served_at_the_rate_without_a_refusal() {
    let limit = limit(100);
    let began = Instant::now();
    for _ in 0..1100 {
        limit.note_success();
        assert!(limit.wait(source("192.0.2.1")).await.is_ok());
    }
    let took = began.elapsed();
    // Timers count whole milliseconds.
    assert!(took >= Duration::from_millis(9_900) && took < Duration::from_secs(12), "{took:?}");
}

#[tokio::test(start_paused = true)]
async fn no_more_than_so_many_wait() {
    let limit = limit(1);
    limit.note_success();
    let began = Instant::now();
    let (ok, refused) = failures(limit, "192.0.2.1", 2 * MAX_DELAYED).await;
    assert_eq!((ok, refused), (1, 2 * MAX_DELAYED - 1));
    assert!(began.elapsed() < 2 * MAX_DELAY);
    assert_eq!(limit.delayed.available_permits(), MAX_DELAYED);
}

#[tokio::test(start_paused = true)]
async fn without_a_limit_nothing_waits() {
    let limit = limit(0);
    limit.note_success();
    assert_eq!(failures(limit, "192.0.2.1", 5000).await, (5000, 0));
}
