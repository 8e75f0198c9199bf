//! Whole requests, as bytes on a connection to a service in this process.
#![no_main]

use std::{
    io::{Read as _, Write as _},
    net::{Shutdown, SocketAddr, TcpStream},
    sync::LazyLock,
    thread,
    time::Duration,
};

use petstore_domain::ServiceKey;
use tokio::{net::TcpListener, runtime::Runtime};

/// The API key in the corpus.
const KEY: &str = "black-box-suite-0123456789";
/// The time limit for each read of an answer. After this time, the target ignores the input.
const LIMIT: Duration = Duration::from_secs(60);

static SERVICE: LazyLock<SocketAddr> = LazyLock::new(|| {
    let runtime = Runtime::new().unwrap();
    let listener = runtime.block_on(TcpListener::bind("127.0.0.1:0")).unwrap();
    let address = listener.local_addr().unwrap();
    let key = ServiceKey::parse(KEY).unwrap();
    thread::spawn(move || {
        runtime.block_on(example_http::serve(listener, key, std::future::pending()));
    });
    address
});

libfuzzer_sys::fuzz_target!(|data: &[u8]| {
    let mut stream = TcpStream::connect(*SERVICE).unwrap();
    stream.set_read_timeout(Some(LIMIT)).unwrap();
    let sent = stream.write_all(data).and_then(|()| stream.shutdown(Shutdown::Write));
    let mut answer = Vec::new();
    if stream.read_to_end(&mut answer).is_err() || sent.is_err() {
        return; // The service closed the connection before it had read everything, or did not answer in time.
    }
    let head = String::from_utf8_lossy(&answer[..answer.len().min(12)]);
    let fails = ["500", "502", "503", "504"].iter().any(|status| head.ends_with(status));
    assert!(!fails, "{}", answer.escape_ascii());
});
