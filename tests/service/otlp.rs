//! Requests as spans, sent to a collector. With the feature `otlp` alone.

use std::{
    net::TcpListener,
    sync::{Arc, Mutex},
    thread,
};

use crate::support::{
    raw::Raw,
    server::{Launch, Server},
    store::Store,
    wait,
};

const TRACE: &str = "0af7651916cd43dd8448eb211c80319c";
const PARENT: &str = "b7ad6b7169203331";

/// A collector that takes everything: the requests that it got, each with its head.
fn collector() -> (String, Arc<Mutex<Vec<Vec<u8>>>>) {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let endpoint = format!("http://{}", listener.local_addr().unwrap());
    let taken = Arc::<Mutex<Vec<_>>>::default();
    let requests = Arc::clone(&taken);
    thread::spawn(move || {
        for stream in listener.incoming().map_while(Result::ok) {
            let requests = Arc::clone(&requests);
            thread::spawn(move || serve(stream, &requests));
        }
    });
    (endpoint, taken)
}

/// Answers each request of a connection 200, with an empty body, which is all that OTLP asks for.
fn serve(mut stream: std::net::TcpStream, requests: &Mutex<Vec<Vec<u8>>>) {
    use std::io::{Read as _, Write as _};
    let mut arrived = Vec::new();
    let mut buffer = [0; 16 * 1024];
    while let Ok(length @ 1..) = stream.read(&mut buffer) {
        arrived.extend_from_slice(&buffer[..length]);
        let Some(end) = arrived.windows(4).position(|four| four == b"\r\n\r\n") else { continue };
        let head = String::from_utf8_lossy(&arrived[..end]).to_lowercase();
        let mut lines = head.lines();
        let body = lines.find_map(|line| line.strip_prefix("content-length: ")).unwrap();
        let whole = end + 4 + body.trim().parse::<usize>().unwrap();
        if arrived.len() >= whole {
            requests.lock().unwrap().push(arrived.drain(..whole).collect());
            let ok = "HTTP/1.1 200 OK\r\ncontent-type: application/x-protobuf\r\ncontent-length: 0\r\n\r\n";
            stream.write_all(ok.as_bytes()).unwrap();
        }
    }
}

fn bytes(hexadecimal: &str) -> Vec<u8> {
    let pairs = (0..hexadecimal.len()).step_by(2).map(|at| &hexadecimal[at..at + 2]);
    pairs.map(|pair| u8::from_str_radix(pair, 16).unwrap()).collect()
}

fn contains(haystack: &[u8], needle: &[u8]) -> bool {
    haystack.windows(needle.len()).any(|window| window == needle)
}

fn launch(store: &Store, endpoint: &str) -> Launch {
    let launch = Launch::on(store).flag("--otlp-endpoint", endpoint);
    launch.flag("--environment", "staging")
}

fn traced(server: &Server, sampled: bool) -> String {
    let flags = if sampled { "01" } else { "00" };
    let call = server.client().get("/v1/pets/0").header("x-request-id", "a-traced-request");
    let answer = call.header("traceparent", format!("00-{TRACE}-{PARENT}-{flags}")).send().is(404);
    answer.must("traceresponse").split('-').nth(2).unwrap().to_owned()
}

#[test]
fn a_request_is_exported_as_a_span_of_its_trace() {
    let (endpoint, taken) = collector();
    let store = Store::memory();
    let server = launch(&store, &endpoint).start();
    let span = traced(&server, true);
    // Without a trace of its client, a request begins one.
    let own = server.client().get("/livez").send().is(200);
    let own: Vec<_> = own.must("traceresponse").split('-').map(str::to_owned).collect();
    let all = || taken.lock().unwrap().concat();
    wait::until("the spans arrive", || contains(&all(), &bytes(&own[2])));
    let all = all();
    assert!(all.starts_with(b"POST /v1/traces HTTP/1.1\r\n"));
    for id in [TRACE, PARENT, &span, &own[1]] {
        assert!(contains(&all, &bytes(id)), "{id}");
    }
    for text in [
        "GET /v1/pets/{petId}",
        "pet_not_found",
        "a-traced-request",
        "GET /livez",
        "petstore",
        "staging",
        "http.response.status_code",
    ] {
        assert!(contains(&all, text.as_bytes()), "{text}");
    }
    assert!(!contains(&all, b"/v1/pets/0"), "templates alone");
}

#[test]
fn what_is_left_is_exported_at_the_stop_and_what_is_not_recorded_never() {
    let (endpoint, taken) = collector();
    let store = Store::memory();
    let server = launch(&store, &endpoint).start();
    let unrecorded = traced(&server, false);
    let recorded = traced(&server, true);
    server.stop();
    let all = taken.lock().unwrap().concat();
    assert!(contains(&all, &bytes(&recorded)));
    assert!(!contains(&all, &bytes(&unrecorded)));
}

#[test]
fn a_collector_that_does_not_answer_slows_no_request() {
    // It accepts connections and never answers: then nothing is exported, and the queue fills.
    let silent = TcpListener::bind("127.0.0.1:0").unwrap();
    let store = Store::memory();
    let server = launch(&store, &format!("http://{}", silent.local_addr().unwrap())).start();
    let request = "GET /livez HTTP/1.1\r\nhost: a\r\n\r\n";
    let mut raw = Raw::to(server.address);
    // More than the queue holds.
    for _ in 0..30 {
        raw.send(request.repeat(100));
        for _ in 0..100 {
            assert_eq!(raw.answer("GET", "/livez").status, 200);
        }
    }
    server.client().get("/readyz").send().is(200);
}

#[test]
fn without_the_flag_no_trace_begins() {
    let (_store, server) = Server::in_memory();
    assert_eq!(server.client().get("/livez").send().header("traceresponse"), None);
    let refused =
        Launch::on(&Store::memory()).flag("--otlp-endpoint", "https://collector").finish();
    assert_eq!(refused.code, Some(2));
    assert!(refused.stderr.contains("the URL begins with http://"), "{refused:?}");
}
