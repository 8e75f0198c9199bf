//! HTTP/2: limits and timeouts, the end of a connection, `100 Continue`, and answers before the body has arrived.

use std::time::Duration;

use hyper::Request;
use tokio::{
    io::{AsyncRead, AsyncReadExt as _, AsyncWriteExt as _, DuplexStream},
    time::{Instant, sleep, timeout},
};

use super::{
    HEADER, IDLE, TICK, WRITE, connect, connect_in,
    frames::{
        DATA, GOAWAY, HEADERS, NO_WINDOW, RESET, WINDOW_UPDATE, block, frame, preface, read_frame,
        window_updates,
    },
    get_request, http2_client, is_about, limits, slow_ports, state, unused_ports,
};
use crate::{settings::Limits, state::Ports};

/// The time that a client has after GOAWAY.
const GOODBYE: Duration = Duration::from_secs(1);
/// The head of `100 Continue` in HPACK: `:status`, the eighth name of the static table, and `100` in Huffman code.
const CONTINUE: [u8; 4] = [0x48, 0x82, 0x08, 0x01];

/// Returns `GET path` without a body, as stream 1.
fn get(path: &str) -> Vec<u8> {
    frame(HEADERS, 4 | 1, 1, &block(path))
}

/// Returns the client's end of a connection to a service over `ports`, after the client has sent `frames`.
async fn open(ports: Ports, frames: &[u8]) -> DuplexStream {
    let (mut client, _) = connect_in(&state(limits(), ports), 1 << 16);
    client.write_all(&[&preface(&[]), frames].concat()).await.unwrap();
    client
}

/// Returns a header field in HPACK.
fn field(name: &str, value: &str) -> Vec<u8> {
    let length = |text: &str| u8::try_from(text.len()).unwrap();
    [&[0, length(name)], name.as_bytes(), &[length(value)], value.as_bytes()].concat()
}

/// Reads until the server ends the connection. Returns the time it took.
async fn time_until_closed(client: &mut (impl AsyncRead + Unpin)) -> Duration {
    let began = Instant::now();
    let mut received = Vec::new();
    let end = timeout(Duration::from_hours(1), client.read_to_end(&mut received)).await;
    end.expect("the connection ends").unwrap();
    began.elapsed()
}

#[tokio::test(start_paused = true)]
async fn the_limits_are_announced() {
    let mut client = open(unused_ports(), &[]).await;
    let (_, _, settings) = read_frame(&mut client).await.unwrap();
    let value = |name: u8| {
        let setting = settings.chunks(6).find(|setting| setting[..2] == [0, name])?;
        Some(u32::from_be_bytes(setting[2..].try_into().unwrap()))
    };
    assert_eq!(value(3), Some(128), "requests in flight");
    assert!(value(4).is_none_or(|window| window == 65_535), "the window of a stream: {settings:?}");
    assert_eq!(value(6), Some(16_384), "bytes of a head");
    // No frame enlarges the initial window of the connection.
    while let Ok(frame) = timeout(Duration::from_secs(1), read_frame(&mut client)).await {
        let (kind, stream, _) = frame.unwrap();
        assert_ne!((kind, stream), (WINDOW_UPDATE, 0), "the window grows");
    }
}

#[tokio::test(start_paused = true)]
async fn a_body_may_be_larger_than_the_windows() {
    let (client, _task) = connect_in(&state(limits(), slow_ports()), 1 << 16);
    let mut sender = http2_client(client).await;
    let json = r#"{"name":"Rex","categoryId":1}"#;
    let body = " ".repeat(Limits::default().max_body - json.len()) + json;
    for _ in 0..2 {
        let request = Request::post("http://a/v1/pets")
            .header("authorization", "Bearer any")
            .header("content-type", "application/json")
            .body(body.clone().into());
        let answer = sender.send_request(request.unwrap()).await.unwrap();
        assert_eq!(answer.status(), 201);
    }
}

#[tokio::test(start_paused = true)]
async fn a_connection_without_a_request_is_closed_after_goaway() {
    let unfinished = |stream| frame(HEADERS, 0, stream, &[0x82, 0x86]);
    let ping = frame(6, 0, 0, &[0; 8]);
    for (start, sent_later, limit) in [
        (vec![], None, HEADER),
        (unfinished(1), None, HEADER),
        (get("/livez"), None, IDLE),
        (get("/livez"), Some(ping), IDLE),
        (get("/livez"), Some(unfinished(3)), IDLE),
        // A request that its client resets is no longer in flight.
        (get("/readyz"), Some(frame(RESET, 0, 1, &[0, 0, 0, 8])), 2 * HEADER + IDLE),
    ] {
        let began = Instant::now();
        let mut client = open(slow_ports(), &start).await;
        if let Some(sent_later) = &sent_later {
            sleep(2 * HEADER).await;
            client.write_all(sent_later).await.unwrap();
        }
        time_until_closed(&mut client).await;
        let took = began.elapsed();
        assert!(is_about(took, limit + GOODBYE), "{start:?} {sent_later:?}: {took:?}");
    }
}

#[tokio::test(start_paused = true)]
async fn control_frames_keep_no_connection_open() {
    // PING, SETTINGS, PRIORITY, WINDOW_UPDATE, and a frame of an unknown kind.
    let floods = [
        frame(6, 0, 0, &[0; 8]),
        frame(4, 0, 0, &[]),
        frame(2, 0, 1, &[0, 0, 0, 0, 1]),
        frame(WINDOW_UPDATE, 0, 0, &[0, 0, 0, 1]),
        frame(0x77, 0, 0, &[0; 100]),
    ];
    for flood in floods {
        for (start, limit) in [(vec![], HEADER), (get("/livez"), IDLE)] {
            // A small buffer, so that the answers to the flood block the socket again and again.
            let (client, task) = connect(500);
            let (mut reader, mut writer) = tokio::io::split(client);
            let began = Instant::now();
            writer.write_all(&[preface(&[]), start].concat()).await.unwrap();
            let reading = tokio::spawn(async move {
                let mut space = [0; 100];
                while let Ok(1..) = reader.read(&mut space).await {
                    sleep(Duration::from_millis(5)).await;
                }
            });
            while writer.write_all(&flood.repeat(3)).await.is_ok() {
                assert!(began.elapsed() < 2 * limit, "{flood:?}: still open");
                sleep(Duration::from_millis(10)).await;
            }
            let took = began.elapsed();
            assert!(took < limit + GOODBYE + Duration::from_millis(100), "{flood:?}: {took:?}");
            task.await.unwrap();
            reading.await.unwrap();
        }
    }
}

#[tokio::test(start_paused = true)]
async fn a_client_with_a_closed_or_trickling_window_is_cut_off() {
    for (rate, slack) in [(None, TICK), (Some(10), Duration::from_secs(1))] {
        let (mut client, _task) = connect(1 << 16);
        client.write_all(&[preface(&NO_WINDOW), get("/large")].concat()).await.unwrap();
        let (mut reader, mut writer) = tokio::io::split(client);
        tokio::spawn(async move {
            while let Some(rate) = rate
                && writer.write_all(&window_updates(1, rate)).await.is_ok()
            {
                sleep(Duration::from_secs(1)).await;
            }
        });
        let took = time_until_closed(&mut reader).await;
        assert!(WRITE <= took + TICK && took <= WRITE + slack, "{rate:?}: {took:?}");
    }
}

#[tokio::test(start_paused = true)]
async fn a_client_without_reads_is_cut_off() {
    // The header timeout is longer than the write timeout, so only the write timeout can end the connection.
    let limits = Limits { header_timeout: 10 * WRITE, ..limits() };
    // The smaller buffer has no room for the settings of the server.
    for buffer in [10, 1000] {
        let (mut client, task) = connect_in(&state(limits, unused_ports()), buffer);
        let began = Instant::now();
        let _ = client.write_all(&[preface(&[]), get("/large")].concat()).await;
        timeout(Duration::from_hours(1), task).await.expect("the connection ends").unwrap();
        assert!(is_about(began.elapsed(), WRITE), "{buffer}: {:?}", began.elapsed());
    }
}

#[tokio::test(start_paused = true)]
async fn a_head_of_more_than_16_kib_is_refused() {
    for (length, status) in [(15_000, 200), (16_500, 431)] {
        let mut sender = http2_client(connect(1 << 16).0).await;
        let mut request = get_request("/livez");
        request.headers_mut().insert("x", "y".repeat(length).parse().unwrap());
        let answer = timeout(Duration::from_hours(1), sender.send_request(request)).await;
        assert_eq!(answer.expect("an answer").unwrap().status(), status, "{length}");
    }
}

/// Returns the head of `POST path`, as stream 1. The service refuses the request before it reads the body.
fn post(path: &str) -> Vec<u8> {
    let mut head = get(path);
    (head[4], head[9]) = (4, 0x83);
    head
}

/// Returns the kinds of the frames of stream 1 until the server is silent for `silence`.
async fn frames_of_stream_1(client: &mut DuplexStream, silence: Duration) -> Vec<u8> {
    let mut kinds = Vec::new();
    while let Ok(frame) = timeout(silence, read_frame(client)).await {
        let (kind, stream, _) = frame.unwrap();
        if stream == 1 {
            kinds.push(kind);
        }
    }
    kinds
}

/// Returns the payload of the next frame of this kind.
async fn next_of(client: &mut (impl AsyncRead + Unpin), wanted: u8) -> Vec<u8> {
    loop {
        let (kind, _, payload) = read_frame(client).await.expect("the connection is open");
        if kind == wanted {
            return payload;
        }
    }
}

#[tokio::test(start_paused = true)]
async fn a_request_that_crosses_goaway_is_answered() {
    for acknowledged in [false, true] {
        let mut client = open(slow_ports(), &[]).await;
        next_of(&mut client, GOAWAY).await;
        client.write_all(&get("/readyz")).await.unwrap();
        if acknowledged {
            // The server sends a PING with GOAWAY. The client answers the PING after its request.
            let ping = next_of(&mut client, 6).await;
            client.write_all(&frame(6, 1, 0, &ping)).await.unwrap();
        }
        assert!(!next_of(&mut client, HEADERS).await.is_empty());
        assert_eq!(next_of(&mut client, DATA).await, br#"{"status":"ready"}"#);
        let took = time_until_closed(&mut client).await;
        assert!(took <= Duration::from_secs(2), "{took:?}");
    }
}

#[tokio::test(start_paused = true)]
async fn a_client_gets_100_continue_when_the_service_reads_its_body() {
    let key = field("authorization", "Bearer any");
    let json = field("content-type", "application/json");
    let expect = field("expect", "100-continue");
    let post = |fields: &[&[u8]]| {
        let mut block = [block("/v1/pets"), fields.concat()].concat();
        block[0] = 0x83;
        frame(HEADERS, 4, 1, &block)
    };
    let table: [(&[&[u8]], bool); 5] = [
        (&[&key, &json, &expect], true),
        (&[&key, &json, &field("expect", "100-Continue")], true),
        (&[&key, &json], false),
        // Refused before the body is read, because there is no `Content-Type`.
        (&[&key, &expect], false),
        // One byte more than a body may have.
        (&[&key, &json, &expect, &field("content-length", "65537")], false),
    ];
    for (fields, is_asked) in table {
        let mut client = open(slow_ports(), &post(fields)).await;
        let began = Instant::now();
        let first = timeout(HEADER, next_of(&mut client, HEADERS)).await;
        let is_continue = first.as_ref().is_ok_and(|head| *head == CONTINUE);
        assert_eq!(is_continue, is_asked, "{first:?}");
        if is_asked {
            assert_eq!(began.elapsed(), Duration::ZERO);
            let body = br#"{"name":"Rex","categoryId":1}"#;
            client.write_all(&frame(DATA, 1, 1, body)).await.unwrap();
            next_of(&mut client, HEADERS).await;
            let added = next_of(&mut client, DATA).await;
            assert_eq!(added, br#"{"id":1,"name":"Rex","categoryId":1}"#);
        }
    }
}

#[tokio::test(start_paused = true)]
async fn a_client_is_answered_without_a_reset_while_it_sends() {
    let mut client = open(unused_ports(), &post("/livez")).await;
    // The body arrives slowly. The answer, a head and a body, arrives at once.
    for expected in [&[HEADERS, DATA][..], &[]] {
        let kinds = frames_of_stream_1(&mut client, Duration::from_millis(900)).await;
        assert_eq!(kinds, expected);
        client.write_all(&frame(0, 0, 1, b"more")).await.unwrap();
    }
    client.write_all(&frame(0, 1, 1, b"the end")).await.unwrap();
    assert!(!frames_of_stream_1(&mut client, Duration::from_millis(500)).await.contains(&RESET));

    // The body is read although the client's window has no room for the answer.
    let (mut client, _task) = connect(1 << 17);
    let body = frame(DATA, 0, 1, &[0; 16_000]).repeat(4);
    client.write_all(&[preface(&NO_WINDOW), post("/livez"), body].concat()).await.unwrap();
    let began = Instant::now();
    next_of(&mut client, WINDOW_UPDATE).await;
    assert_eq!(began.elapsed(), Duration::ZERO);
}

#[tokio::test(start_paused = true)]
async fn a_stream_with_an_unfinished_body_is_reset() {
    // The stream is reset after a second of silence, after five seconds, or after 16 MiB: 525 times 32,000 bytes.
    for (pause, piece, expected) in [(2000, 1, 1000), (500, 1, 5000), (2, 16_000, 1050)] {
        let client = open(unused_ports(), &post("/livez")).await;
        let (began, (mut reader, mut writer)) = (Instant::now(), tokio::io::split(client));
        let sending = async {
            loop {
                sleep(Duration::from_millis(pause)).await;
                writer.write_all(&frame(DATA, 0, 1, &vec![0; piece]).repeat(2)).await.unwrap();
            }
        };
        next_of(&mut reader, DATA).await;
        tokio::select! {
            _ = next_of(&mut reader, RESET) => (),
            () = sending => unreachable!("the client sends for ever"),
        }
        let expected = Duration::from_millis(expected);
        assert!(is_about(began.elapsed(), expected), "{pause}: {:?}", began.elapsed());
    }
}
