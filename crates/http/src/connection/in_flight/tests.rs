use std::time::Duration;

use bytes::{Buf as _, Bytes};
use tokio::time::{Instant, advance};

use super::{CountedBytes, InFlight, Inactivity};
use crate::settings::Limits;

const IDLE: Duration = Duration::from_secs(75);
const HEAD: Duration = Duration::from_secs(10);
const WRITE: Duration = Duration::from_secs(30);

/// Of a connection that is accepted now.
fn accepted() -> InFlight {
    let limits = Limits { header_timeout: HEAD, write_timeout: WRITE, ..Limits::default() };
    InFlight::new(Instant::now(), limits)
}

#[tokio::test(start_paused = true)]
async fn a_connection_without_requests_becomes_idle() {
    let in_flight = accepted();
    advance(Duration::from_secs(4)).await;
    drop(in_flight.begin());
    let began = Instant::now();
    assert_eq!(in_flight.wait_until_inactive(IDLE).await, Inactivity::Idle);
    assert!(began.elapsed() >= IDLE);
}

#[tokio::test(start_paused = true)]
async fn a_request_that_is_being_answered_keeps_its_connection() {
    let in_flight = accepted();
    let request = in_flight.begin();
    let waiting = tokio::spawn(async move { in_flight.wait_until_inactive(IDLE).await });
    tokio::time::sleep(Duration::from_hours(1)).await;
    assert!(!waiting.is_finished());
    drop(request);
    let began = Instant::now();
    assert_eq!(waiting.await.unwrap(), Inactivity::Idle);
    assert!(began.elapsed() <= IDLE + Duration::from_millis(2));
}

#[tokio::test(start_paused = true)]
async fn an_answer_is_in_flight_until_its_bytes_are_gone_and_stalls_when_none_go() {
    let in_flight = accepted();
    let mut bytes = CountedBytes::new(Bytes::from(vec![0; 1 << 20]), in_flight.begin());
    let began = Instant::now();
    let sending = async {
        for _ in 0..100 {
            tokio::time::sleep(Duration::from_secs(1)).await;
            bytes.advance(2000);
        }
        std::future::pending::<()>().await;
    };
    let inactivity = tokio::select! {
        inactivity = in_flight.wait_until_inactive(IDLE) => inactivity,
        () = sending => unreachable!("it never ends"),
    };
    assert_eq!(inactivity, Inactivity::Stalled);
    let expected = Duration::from_secs(100) + WRITE;
    assert!(began.elapsed() >= expected && began.elapsed() < expected + IDLE);
    drop(bytes);
    assert_eq!(in_flight.wait_until_inactive(IDLE).await, Inactivity::Idle);
}
