//! Answers that wait for their clients: the time limit of a stream, the memory bound of all connections, and clients
//! that keep their answers at this bound.

use std::{sync::Arc, time::Duration};

use http_body_util::{BodyExt as _, Full};
use hyper::{
    body::Bytes,
    client::conn::http2::{self, SendRequest},
};
use hyper_util::rt::{TokioExecutor, TokioIo};
use tokio::{
    io::{AsyncReadExt as _, AsyncWriteExt as _, DuplexStream, duplex, split},
    task::{JoinHandle, JoinSet},
    time::{Instant, sleep, timeout},
};

use super::{
    GET_LARGE, IDLE, LARGE, MEDIUM, TICK, WRITE, connect_in,
    frames::{DATA, HEADERS, NO_WINDOW, RESET, block, frame, preface, read_frame, window_updates},
    get_request, http2_client, is_about, slow_ports, state, unused_ports,
};
use crate::{settings::Limits, state::State};

const SECOND: Duration = Duration::from_secs(1);
const HOUR: Duration = Duration::from_hours(1);

/// Returns a service with these limits.
fn service(max_buffered_answers: usize, write_timeout: Duration) -> Arc<State> {
    let limits =
        Limits { max_buffered_answers, write_timeout, idle_timeout: IDLE, ..Limits::default() };
    state(limits, unused_ports())
}

/// Returns the first bytes of a client with closed windows that requests the large page on `streams` streams.
fn greedy(streams: u8) -> Vec<u8> {
    let gets = (0..streams).flat_map(|n| frame(HEADERS, 4 | 1, 2 * n + 1, &block("/large")));
    preface(&NO_WINDOW).into_iter().chain(gets).collect()
}

/// Returns the streams that are reset until the server is silent for `silence`, each with its error code.
async fn resets(client: &mut DuplexStream, silence: Duration) -> Vec<(u8, u8)> {
    let mut reset = Vec::new();
    while let Ok(Some((kind, stream, payload))) = timeout(silence, read_frame(client)).await {
        reset.extend((kind == RESET).then(|| (stream, payload[3])));
    }
    reset.sort_unstable();
    reset
}

async fn length_of(mut sender: SendRequest<Full<Bytes>>, path: &str) -> usize {
    let answer = sender.send_request(get_request(path)).await.unwrap();
    answer.into_body().collect().await.unwrap().to_bytes().len()
}

#[tokio::test(start_paused = true)]
async fn an_unread_stream_is_reset_beside_a_stream_that_is_read() {
    let (client, _task) = connect_in(&service(1 << 30, WRITE), 1 << 16);
    let (mut reader, mut writer) = split(client);
    writer.write_all(&greedy(5)).await.unwrap();
    tokio::spawn(async move {
        loop {
            // A PING is no progress.
            let frames = [window_updates(1, 2000), frame(6, 0, 0, &[0; 8])].concat();
            writer.write_all(&frames).await.unwrap();
            sleep(SECOND).await;
        }
    });
    let (began, mut received, mut reset) = (Instant::now(), 0, Vec::new());
    while received < LARGE {
        let (kind, stream, payload) = read_frame(&mut reader).await.unwrap();
        match kind {
            DATA => {
                assert_eq!(stream, 1);
                received += payload.len();
            }
            RESET => {
                assert!(is_about(began.elapsed(), WRITE), "{stream}: {:?}", began.elapsed());
                reset.push(stream);
            }
            _ => (),
        }
    }
    reset.sort_unstable();
    assert_eq!(reset, [3, 5, 7, 9]);
}

#[tokio::test(start_paused = true)]
async fn above_half_of_the_bound_an_unread_stream_is_reset_after_a_second() {
    // The streams of another connection may come later.
    for (streams, others, limit) in [(4, 0, WRITE), (6, 0, SECOND), (4, 2, SECOND)] {
        let (service, began) = (service(10 * LARGE, WRITE), Instant::now());
        let (mut client, _task) = connect_in(&service, 1 << 16);
        client.write_all(&greedy(streams)).await.unwrap();
        sleep(TICK / 2).await;
        let (mut other, _task) = connect_in(&service, 1 << 16);
        other.write_all(&greedy(others)).await.unwrap();
        while !matches!(read_frame(&mut client).await, Some((RESET, ..)) | None) {}
        assert!(is_about(began.elapsed(), limit), "{streams} {others}: {:?}", began.elapsed());
    }
    // Over HTTP/1, one unread answer uses less than half, and two use more.
    for (answers, limit) in [(1, WRITE), (2, SECOND)] {
        let (service, began) = (service(4 * LARGE, WRITE), Instant::now());
        let (mut clients, mut tasks) = (Vec::new(), Vec::new());
        for _ in 0..answers {
            let (mut client, task) = connect_in(&service, 1000);
            client.write_all(GET_LARGE.as_bytes()).await.unwrap();
            sleep(TICK / 2).await;
            clients.push(client);
            tasks.push(task);
        }
        tasks.remove(0).await.unwrap();
        assert!(is_about(began.elapsed(), limit), "{answers}: {:?}", began.elapsed());
    }
}

#[tokio::test(start_paused = true)]
async fn at_the_bound_a_reading_client_is_served() {
    // This memory has room for the answers to one attacker, but not to two.
    const MAX: usize = 20 * LARGE;
    let service = service(MAX, WRITE);
    let mut attackers = Vec::new();
    let honest = http2_client(connect_in(&service, 1 << 14).0).await;
    for _ in 0..20 {
        let (mut client, _task) = connect_in(&service, 1 << 16);
        client.write_all(&greedy(10)).await.unwrap();
        attackers.push(client);
        assert_eq!(length_of(honest.clone(), "/large").await, LARGE);
        assert!(service.waiting_bodies.bytes() <= MAX);
    }
    // The streams were reset at once, not after a timeout.
    let mut reset = 0;
    for client in &mut attackers {
        reset += resets(client, SECOND / 10).await.len();
    }
    assert!(reset >= 180, "{reset}");
    drop(attackers);
    sleep(2 * SECOND).await;
    assert_eq!(service.waiting_bodies.bytes(), 0);
}

#[tokio::test(start_paused = true)]
async fn at_the_bound_a_client_with_only_one_answer_keeps_it() {
    let service = service(20 * LARGE, WRITE);
    // Connections that have ended have no share of the memory.
    for _ in 0..20 {
        let (mut ended, _task) = connect_in(&service, 1 << 16);
        ended.write_all(&greedy(1)).await.unwrap();
        sleep(TICK).await;
    }
    let (mut modest, _task) = connect_in(&service, 1 << 16);
    modest.write_all(&greedy(1)).await.unwrap();
    sleep(Duration::from_millis(1)).await;
    let (mut greedy_client, _task) = connect_in(&service, 1 << 16);
    greedy_client.write_all(&greedy(60)).await.unwrap();
    assert!(!resets(&mut greedy_client, SECOND / 10).await.is_empty());
    assert!(resets(&mut modest, 2 * SECOND).await.is_empty());
}

#[tokio::test(start_paused = true)]
async fn at_the_bound_further_requests_of_a_greedy_connection_are_refused() {
    // Room for eight requests. The store answers after 23 s.
    let limits = Limits { max_buffered_answers: 32 * 1024, ..Limits::default() };
    let service = state(limits, slow_ports());
    let (mut greedy, _task) = connect_in(&service, 1 << 16);
    let gets = (0..20).flat_map(|n| frame(HEADERS, 4 | 1, 2 * n + 1, &block("/readyz")));
    greedy.write_all(&[preface(&[]), gets.collect()].concat()).await.unwrap();
    let refused = resets(&mut greedy, SECOND).await;
    // REFUSED_STREAM allows the client to send the request again.
    assert_eq!(refused, (8..20).map(|n| (2 * n + 1, 7)).collect::<Vec<_>>());
    assert_eq!(service.waiting_bodies.bytes(), 32 * 1024);
    // Request bodies have a limit of their own.
    assert_eq!(service.body_memory.available_permits(), Limits::default().max_buffered_bodies);
    let mut modest = http2_client(connect_in(&service, 1 << 14).0).await;
    assert_eq!(modest.send_request(get_request("/readyz")).await.unwrap().status(), 200);
    drop(greedy);
    sleep(SECOND).await;
    assert_eq!(service.waiting_bodies.bytes(), 0);
}

/// A proxy sends the requests of its clients over one connection, and the window of each stream follows its client.
#[tokio::test(start_paused = true)]
async fn at_the_bound_a_read_stream_is_served_beside_unread_streams() {
    // Room for twenty requests with their answers, and for no other request.
    const MAX: usize = 20 * (LARGE + 4096);
    let service = service(MAX, WRITE);
    let (near, _task) = connect_in(&service, 1 << 14);
    let mut proxy = http2::Builder::new(TokioExecutor::new());
    proxy.initial_stream_window_size(1000).initial_connection_window_size(1 << 30);
    let (sender, connection) = proxy.handshake(TokioIo::new(near)).await.unwrap();
    tokio::spawn(connection);
    let mut unread = Vec::new();
    for _ in 0..10 {
        for _ in 0..5 {
            unread.push(sender.clone().send_request(get_request("/large")).await.unwrap());
        }
        assert_eq!(length_of(sender.clone(), "/large").await, LARGE);
        assert!(service.waiting_bodies.bytes() <= MAX);
    }
    let ended = |answer: hyper::Response<hyper::body::Incoming>| async {
        answer.into_body().collect().await.is_err()
    };
    let ended = futures_util::future::join_all(unread.into_iter().map(ended)).await;
    assert!(ended.iter().filter(|ended| **ended).count() >= 30, "{ended:?}");
    assert_eq!(length_of(sender, "/large").await, LARGE);
}

#[tokio::test(start_paused = true)]
async fn at_the_bound_unread_connections_of_http_1_end() {
    const MAX: usize = 3 * LARGE;
    let service = service(MAX, WRITE);
    let mut tasks = Vec::new();
    let mut clients = Vec::new();
    for _ in 0..10 {
        let (mut client, task) = connect_in(&service, 1000);
        client.write_all(GET_LARGE.as_bytes()).await.unwrap();
        sleep(Duration::from_millis(1)).await;
        assert!(service.waiting_bodies.bytes() <= MAX);
        clients.push(client);
        tasks.push(task);
    }
    let first_open = tasks.iter().position(|task| !task.is_finished());
    assert_eq!(first_open, Some(8), "the oldest connections end");
    let reading = http2_client(connect_in(&service, 1 << 14).0).await;
    assert_eq!(length_of(reading, "/large").await, LARGE);
    // Two connections use more than half of the bound; one connection uses less.
    sleep(2 * SECOND).await;
    assert_eq!(tasks.iter().filter(|task| task.is_finished()).count(), 9);
    sleep(WRITE).await;
    assert!(tasks.iter().all(JoinHandle::is_finished));
    assert_eq!(service.waiting_bodies.bytes(), 0);
}

#[tokio::test(start_paused = true)]
async fn all_streams_on_a_slow_line_get_their_whole_answers() {
    let usual = Limits::default().write_timeout;
    // At 1,200 bytes per second, one piece of each stream takes longer than the write timeout.
    for (streams, page, length, line, write_timeout, window) in [
        (4, "/large", LARGE, 2 * 1024, usual, 1 << 22),
        (20, "/medium", MEDIUM, 1200, WRITE, 1 << 22),
        (128, "/medium", MEDIUM, 1200, usual, 65_535),
    ] {
        let service = service(64 << 20, write_timeout);
        let (client, _task) = connect_in(&service, 1000);
        let (near, far) = duplex(1000);
        let ((mut up, mut to_server), (mut from_near, mut to_near)) = (split(client), split(far));
        tokio::spawn(async move {
            let mut piece = vec![0; 1000];
            while let Ok(length @ 1..) = up.read(&mut piece).await
                && to_near.write_all(&piece[..length]).await.is_ok()
            {
                sleep(SECOND * u32::try_from(length).unwrap() / line).await;
            }
        });
        tokio::spawn(async move { tokio::io::copy(&mut from_near, &mut to_server).await });
        let mut client = http2::Builder::new(TokioExecutor::new());
        client.initial_connection_window_size(window);
        let (sender, connection) = client.handshake(TokioIo::new(near)).await.unwrap();
        tokio::spawn(connection);
        let began = Instant::now();
        let answers: JoinSet<_> = (0..streams).map(|_| length_of(sender.clone(), page)).collect();
        let lengths = timeout(HOUR, answers.join_all()).await.expect("the answers within an hour");
        assert_eq!(lengths, vec![length; streams], "{line} B/s, window {window}");
        assert!(began.elapsed() > Duration::from_secs(160), "{:?}", began.elapsed());
    }
}
