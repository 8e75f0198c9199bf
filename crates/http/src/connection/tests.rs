use std::{net::SocketAddr, sync::Arc, time::Duration};

use http_body_util::Full;
use hyper::{
    Request,
    body::Bytes,
    client::conn::{self, http2::SendRequest},
};
use hyper_util::rt::{TokioExecutor, TokioIo};
use petstore_domain::MockAuthenticator;
use tokio::{
    io::{AsyncReadExt as _, AsyncWriteExt as _, DuplexStream, duplex},
    task::JoinHandle,
    time::{Instant, sleep},
};

use super::serve;
use crate::{
    settings::{Limits, Settings, StaticFile},
    state::{
        Ports, State,
        tests::{SlowPets, ports, unused_ports},
    },
};

mod frames;
mod http2;
mod waiting;

const HEADER: Duration = Duration::from_secs(3);
const IDLE: Duration = Duration::from_secs(20);
const WRITE: Duration = Duration::from_secs(7);
const LIVE: &str = "GET /livez HTTP/1.1\r\nhost: a\r\n\r\n";
const GET_LARGE: &str = "GET /large HTTP/1.1\r\nhost: a\r\n\r\n";
/// The size of the page at `/large`, in bytes.
const LARGE: usize = 100_000;
/// The size of the page at `/medium`, in bytes.
const MEDIUM: usize = 10_000;
/// The tolerance of a measured time, because timers count whole milliseconds.
const TICK: Duration = Duration::from_millis(2);

fn limits() -> Limits {
    Limits {
        header_timeout: HEADER,
        idle_timeout: IDLE,
        write_timeout: WRITE,
        refusal_delay: Duration::ZERO,
        ..Limits::default()
    }
}

/// Returns ports with a pet service whose calls take longer than the idle timeout.
fn slow_ports() -> Ports {
    let pets = SlowPets { takes: IDLE + HEADER, ..SlowPets::default() };
    ports(pets, MockAuthenticator::accepting("any"))
}

/// Returns the client's end of a connection with a buffer of `buffer` bytes, and the server's task.
fn connect(buffer: usize) -> (DuplexStream, JoinHandle<()>) {
    connect_in(&state(limits(), unused_ports()), buffer)
}

fn state(limits: Limits, ports: Ports) -> Arc<State> {
    petstore_testing::limit_time();
    let static_files = [("/large", LARGE), ("/medium", MEDIUM)].map(|(path, length)| StaticFile {
        path,
        content: vec![b' '; length].into(),
        ..StaticFile::default()
    });
    let static_files = static_files.into();
    Arc::new(State::new(ports, Settings { limits, static_files, ..Settings::default() }, None))
}

/// Opens a connection to the service of `state`.
fn connect_in(state: &Arc<State>, buffer: usize) -> (DuplexStream, JoinHandle<()>) {
    let (client, server) = duplex(buffer);
    let state = Arc::clone(state);
    let task = tokio::spawn(async move {
        let peer = SocketAddr::from(([127, 0, 0, 1], 4711)).into();
        serve(Box::new(server), peer, None, state).await;
    });
    (client, task)
}

/// Opens a connection over which the client has sent `text`.
async fn connect_with(buffer: usize, text: &str) -> (DuplexStream, JoinHandle<()>) {
    let (mut client, task) = connect(buffer);
    client.write_all(text.as_bytes()).await.unwrap();
    (client, task)
}

/// Returns a client that reads its answers.
async fn http2_client(stream: DuplexStream) -> SendRequest<Full<Bytes>> {
    let (sender, connection) =
        conn::http2::handshake(TokioExecutor::new(), TokioIo::new(stream)).await.unwrap();
    tokio::spawn(connection);
    sender
}

fn get_request(path: &str) -> Request<Full<Bytes>> {
    Request::get(format!("http://a{path}")).body(Full::default()).unwrap()
}

/// Reads until the server shuts down its write side.
async fn rest(client: &mut DuplexStream) -> String {
    let mut rest = Vec::new();
    client.read_to_end(&mut rest).await.unwrap();
    String::from_utf8(rest).unwrap()
}

/// Reads one answer with a body in JSON.
async fn answer(client: &mut DuplexStream) -> String {
    let mut answer = Vec::new();
    while !answer.ends_with(b"}") {
        answer.push(client.read_u8().await.unwrap());
    }
    String::from_utf8(answer).unwrap()
}

fn is_about(time: Duration, expected: Duration) -> bool {
    expected <= time + TICK && time <= expected + TICK
}

#[tokio::test(start_paused = true)]
async fn the_first_head_has_one_deadline_whenever_it_begins() {
    for (start, after) in [("P", 0), ("P", 2900), ("PRI * HT", 1500), ("GET / HTTP/1.1\r\n", 2900)]
    {
        let (mut client, _task) = connect(1 << 16);
        let began = Instant::now();
        sleep(Duration::from_millis(after)).await;
        client.write_all(start.as_bytes()).await.unwrap();
        let answer = rest(&mut client).await;
        assert!(answer.starts_with("HTTP/1.1 408 Request Timeout\r\n"), "{answer}");
        assert!(answer.contains("\r\ndate: Thu, 01 Jan 1970 00:00:00 GMT\r\n"), "{answer}");
        assert!(answer.contains("\r\nconnection: close\r\n"), "{answer}");
        assert!(answer.contains("\"code\":\"request_timeout\""), "{answer}");
        assert!(answer.contains("within 3s"), "{answer}");
        let took = began.elapsed();
        assert!(is_about(took, HEADER), "{start:?} after {after} ms: {took:?}");
    }
}

#[tokio::test(start_paused = true)]
async fn the_deadline_of_each_later_head_begins_with_its_first_byte_and_is_not_extended() {
    for first in ["\r\n", "G"] {
        let (mut client, _task) = connect(1 << 16);
        for _ in 0..3 {
            client.write_all(LIVE.as_bytes()).await.unwrap();
            assert!(answer(&mut client).await.starts_with("HTTP/1.1 200 OK\r\n"));
            // Longer than the header timeout: the connection is idle.
            sleep(5 * HEADER).await;
        }
        let began = Instant::now();
        for piece in [first, "G", "E"] {
            client.write_all(piece.as_bytes()).await.unwrap();
            sleep(Duration::from_millis(900)).await;
        }
        assert!(rest(&mut client).await.starts_with("HTTP/1.1 408 "));
        assert!(is_about(began.elapsed(), HEADER), "{first:?}: {:?}", began.elapsed());
    }
}

#[tokio::test(start_paused = true)]
async fn an_idle_connection_is_closed_without_a_response() {
    for (request, later, expected) in
        [("", "", HEADER), ("", "\r\n", HEADER), (LIVE, "", IDLE), (LIVE, "\r\n", HEADER)]
    {
        let (mut client, task) = connect_with(1 << 16, request).await;
        if !request.is_empty() {
            answer(&mut client).await;
        }
        client.write_all(later.as_bytes()).await.unwrap();
        let began = Instant::now();
        assert_eq!(rest(&mut client).await, "", "{request:?} {later:?}");
        task.await.unwrap();
        let took = began.elapsed();
        assert!(is_about(took, expected), "{request:?} {later:?}: {took:?}");
    }
}

#[tokio::test(start_paused = true)]
async fn a_client_that_reads_nothing_or_trickles_is_cut_off() {
    for (rate, slack) in [(0, TICK), (10, Duration::from_secs(1))] {
        let (mut client, mut task) = connect_with(1000, GET_LARGE).await;
        let began = Instant::now();
        let reading = async {
            while client.read_exact(&mut vec![0; rate]).await.is_ok() {
                sleep(Duration::from_secs(1)).await;
            }
        };
        tokio::select! {
            ended = &mut task => ended.unwrap(),
            () = reading => unreachable!("the client reads on"),
        }
        let took = began.elapsed();
        assert!(WRITE <= took + TICK && took <= WRITE + slack, "{rate} bytes a second: {took:?}");
    }
}

#[tokio::test(start_paused = true)]
async fn the_time_of_a_slow_but_whole_answer_counts_neither_as_idle_nor_for_the_next_head() {
    for (before, after) in [(GET_LARGE, LIVE), (&format!("{GET_LARGE}GET /li"), &LIVE[7..])] {
        let (mut client, _task) = connect_with(1000, before).await;
        let (mut received, mut piece, began) = (0, vec![0; 2000], Instant::now());
        while received < LARGE {
            let read = client.read(&mut piece).await.unwrap();
            assert_ne!(read, 0, "the connection is closed after {received} bytes");
            received += read;
            sleep(Duration::from_secs(1)).await;
        }
        assert!(began.elapsed() > IDLE + 4 * WRITE);
        client.write_all(after.as_bytes()).await.unwrap();
        let mut more = String::new();
        while !more.ends_with("\"live\"}") {
            more.push(char::from(client.read_u8().await.expect(&more)));
        }
        assert!(more.contains("HTTP/1.1 200 OK\r\n"), "{more}");
    }
}

#[tokio::test(start_paused = true)]
async fn a_client_of_http_1_0_gets_its_answer_after_it_closes_its_sending_side() {
    let (mut client, _task) = connect_with(1 << 16, "GET /livez HTTP/1.0\r\n\r\n").await;
    client.shutdown().await.unwrap();
    assert!(rest(&mut client).await.starts_with("HTTP/1.0 200 "));
}

#[tokio::test(start_paused = true)]
async fn an_incomplete_head_after_pipelined_requests_is_refused() {
    let post = "POST /livez HTTP/1.1\r\nhost: a\r\ncontent-length: 4\r\n\r\nbody";
    let two = LIVE.repeat(2);
    for (before, answers) in [(LIVE, 1), (&two, 2), (post, 1)] {
        for part in ["G", "GET /livez HTTP/1.1\r\n"] {
            let began = Instant::now();
            let (mut client, _task) = connect_with(1 << 16, &format!("{before}{part}")).await;
            for _ in 0..answers {
                assert!(!answer(&mut client).await.starts_with("HTTP/1.1 408 "));
            }
            let refusal = rest(&mut client).await;
            assert!(refusal.starts_with("HTTP/1.1 408 "), "{before:?}");
            assert!(refusal.contains("within 20s"), "{refusal}");
            assert!(is_about(began.elapsed(), IDLE), "{before:?}: {:?}", began.elapsed());
        }
    }
}

#[tokio::test(start_paused = true)]
async fn a_refusal_does_not_wait_for_a_body_and_keeps_its_connection_if_the_body_has_arrived() {
    for (body, is_whole) in [
        ("content-length: 10\r\n\r\n", false),
        ("content-length: 10\r\n\r\n12345", false),
        ("content-length: 10\r\n\r\n0123456789", true),
        ("transfer-encoding: chunked\r\n\r\n5\r\n01234\r\n5\r\n56789\r\n0\r\n\r\n", true),
    ] {
        let began = Instant::now();
        let request = format!("POST /v1/pets HTTP/1.1\r\nhost: a\r\n{body}");
        let (mut client, _task) = connect_with(1 << 16, &request).await;
        let refusal = answer(&mut client).await;
        assert!(refusal.starts_with("HTTP/1.1 401 "), "{refusal}");
        assert_eq!(refusal.contains("\r\nconnection: close\r\n"), !is_whole, "{refusal}");
        assert_eq!(began.elapsed(), Duration::ZERO, "{body:?}");
        client.write_all(LIVE.as_bytes()).await.unwrap();
        if is_whole {
            assert!(answer(&mut client).await.starts_with("HTTP/1.1 200 "), "{body:?}");
        } else {
            assert_eq!(rest(&mut client).await, "", "{body:?}");
        }
    }
}

#[tokio::test(start_paused = true)]
async fn the_preface_of_http_2_is_recognized_byte_by_byte() {
    let (mut client, _task) = connect(1 << 16);
    for byte in *b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n\0\0\0\x04\0\0\0\0\0" {
        client.write_all(&[byte]).await.unwrap();
        sleep(Duration::from_millis(1)).await;
    }
    let (kind, ..) = frames::read_frame(&mut client).await.unwrap();
    assert_eq!(kind, 4, "the server's settings come first");

    let (mut client, _task) = connect_with(1 << 16, "PRI * HTTP/1.1\r\nhost: a\r\n\r\n").await;
    assert!(answer(&mut client).await.starts_with("HTTP/1.1 404 "));
}

#[tokio::test(start_paused = true)]
async fn a_request_in_flight_has_neither_the_header_timeout_nor_the_idle_timeout() {
    let (mut client, _task) = connect_in(&state(limits(), slow_ports()), 1 << 16);
    let head = "POST /v1/pets HTTP/1.1\r\nhost: a\r\nauthorization: Bearer any\r\n\
                content-type: application/json\r\ncontent-length: 29\r\n\r\n";
    for piece in [head, r#"{"name":"Rex","#, r#""categoryId":1}"#] {
        client.write_all(piece.as_bytes()).await.unwrap();
        sleep(HEADER * 9 / 10).await;
    }
    assert!(answer(&mut client).await.starts_with("HTTP/1.1 201 "));
}

#[tokio::test(start_paused = true)]
async fn an_answer_over_http_2_has_one_date_and_its_length() {
    let mut sender = http2_client(connect(1 << 16).0).await;
    let answer = sender.send_request(get_request("/livez")).await.unwrap();
    let dates: Vec<_> = answer.headers().get_all("date").iter().collect();
    assert_eq!(dates, ["Thu, 01 Jan 1970 00:00:00 GMT"]);
    assert_eq!(answer.headers()["content-length"], "17");
}

#[tokio::test(start_paused = true)]
async fn a_client_can_read_a_refusal_while_it_sends_but_not_for_long() {
    let body = "POST /v1/pets HTTP/1.1\r\nhost: a\r\ncontent-length: 1000000\r\n\r\n";
    let close = LIVE.replace("\r\n\r\n", "\r\nconnection: close\r\n\r\n");
    // The service reads the rest of a body until a second of silence, for five seconds, and up to 16 MiB.
    let limits = [(2000, 1, 1000), (500, 1, 5000), (100, 1 << 20, 1600)];
    for (head, (pause, bytes, expected)) in
        limits.map(|it| (body, it)).into_iter().chain([(&*close, limits[0])])
    {
        let (mut client, mut task) = connect_with(1 << 16, head).await;
        client.write_all(&vec![b' '; 500_000]).await.unwrap();
        assert!(rest(&mut client).await.starts_with("HTTP/1.1 "));
        let began = Instant::now();
        let sending = async {
            loop {
                sleep(Duration::from_millis(pause)).await;
                let _ = client.write_all(&vec![b' '; bytes]).await;
            }
        };
        tokio::select! {
            ended = &mut task => ended.unwrap(),
            () = sending => unreachable!("the client sends for ever"),
            () = sleep(Duration::from_mins(1)) => panic!("the connection lingers for ever"),
        }
        let expected = Duration::from_millis(expected);
        assert!(is_about(began.elapsed(), expected), "{pause:?}: {:?}", began.elapsed());
    }
}

#[tokio::test(start_paused = true)]
async fn a_head_of_more_than_16_kib_is_refused() {
    for (length, status) in [(16_000, "200"), (16_384, "431")] {
        let head = format!("GET /livez HTTP/1.1\r\nhost: a\r\nx: {}\r\n\r\n", "y".repeat(length));
        let (mut client, _task) = connect_with(1 << 16, &head).await;
        let mut start = [0; 12];
        client.read_exact(&mut start).await.unwrap();
        assert_eq!(start, *format!("HTTP/1.1 {status}").as_bytes(), "{length}");
    }
}
