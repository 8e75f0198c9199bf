//! Many simultaneous clients that send slowly, send nothing, or read nothing. The service disconnects all of them in
//! time, and answers other clients meanwhile.
//!
//! `PETSTORE_TEST_CRASHES=long` uses 10,000 clients that send slowly or nothing, and 500 that read nothing.

use std::{
    io::{ErrorKind, Read as _, Write as _},
    net::TcpStream,
    thread,
    time::{Duration, Instant},
};

use petstore_testing::say;
use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};
use socket2::{Domain, Socket, Type};

use crate::{
    crash::crashes,
    load::{Load, Outages, journal::Journal},
    support::{
        catalogue::pet,
        memory::{peak_memory, reset_peak_memory},
        raw::{head, post},
        server::{Launch, Server},
        store::Store,
    },
};

/// The server's time limit for a head, a body, and a response that the client does not read.
const LIMIT: Duration = Duration::from_secs(10);
/// The time to fill the buffers of all clients that read nothing, some megabytes each. Only then does the write timeout
/// of a client begin.
const FILLING: Duration = Duration::from_secs(10);
/// The segment size of a client that reads nothing, in bytes, as on Ethernet. With the loopback
/// device's large segments, the kernel's buffers for all clients would reach their common limit.
const SEGMENT: u32 = 1448;
/// The delay that is allowed for the server and this test together.
const LATENESS: Duration = Duration::from_secs(1);
/// The limit on the memory of the service, in KiB.
const MAX_MEMORY: u64 = 400 * 1024;
/// The pause between two checks of all clients. A check also sends one byte of each client that is not silent.
const TRICKLE: Duration = Duration::from_millis(500);

/// The number of clients that are not slow.
const OTHERS: usize = 4;

/// A client that the server must disconnect.
struct Slow {
    stream: TcpStream,
    began: Instant,
    /// The byte that the client repeats; `None` for a silent client.
    trickles: Option<u8>,
    reads: bool,
}

impl Slow {
    fn new(server: &Server, start: &str, trickles: Option<u8>) -> Self {
        Self::on(TcpStream::connect(server.address).unwrap(), start, trickles)
    }

    fn on(mut stream: TcpStream, start: &str, trickles: Option<u8>) -> Self {
        let began = Instant::now();
        stream.write_all(start.as_bytes()).unwrap();
        stream.set_nonblocking(true).unwrap();
        Self { stream, began, trickles, reads: true }
    }

    /// Makes a client that requests more bytes than all buffers hold, and reads nothing.
    fn reader(server: &Server) -> Self {
        let socket = Socket::new(Domain::IPV4, Type::STREAM, None).unwrap();
        socket.set_tcp_mss(SEGMENT).unwrap();
        socket.connect(&server.address.into()).unwrap();
        let mut slow = Self::on(socket.into(), "", Some(b'x'));
        let requests = head("GET", "/openapi.json", "").repeat(500);
        let mut rest = requests.as_bytes();
        while let Ok(written @ 1..) = slow.stream.write(rest) {
            rest = &rest[written..];
        }
        Self { reads: false, began: Instant::now(), ..slow }
    }

    /// Sends a byte, unless the client is silent. Returns whether the server has closed the connection.
    fn is_closed(&mut self) -> bool {
        let sent = self.trickles.map(|byte| self.stream.write(&[byte]));
        if let Some(Err(error)) = sent
            && error.kind() != ErrorKind::WouldBlock
        {
            return true;
        }
        let mut buffer = [0; 4096];
        while self.reads {
            match self.stream.read(&mut buffer) {
                Ok(0) => return true,
                Ok(_) => (),
                Err(error) => return error.kind() != ErrorKind::WouldBlock,
            }
        }
        false
    }
}

/// Makes `senders` clients of each kind that sends slowly or nothing, and `readers` clients that read nothing.
fn slow_clients(server: &Server, senders: usize, readers: usize) -> Vec<Slow> {
    let body = post(&pet("slow").to_string());
    let body = &body[..body.len() - 20];
    let preface = "PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n";
    let mut slow = Vec::new();
    for _ in 0..senders {
        slow.push(Slow::new(server, "GET /livez HTTP/1.1\r\nhost: a\r\nx: ", Some(b'y')));
        // The body is incomplete.
        slow.push(Slow::new(server, body, None));
        slow.push(Slow::new(server, "", None));
        slow.push(Slow::new(server, preface, None));
    }
    slow.extend((0..readers).map(|_| Slow::reader(server)));
    slow
}

/// Raises the limit on open files of this process, which has a socket for each client.
fn raise_own_file_limit() {
    let limit = getrlimit(Resource::Nofile);
    setrlimit(Resource::Nofile, Rlimit { current: limit.maximum, ..limit }).unwrap();
}

#[petstore_testing::needs(quiet)]
#[test]
fn slow_clients_are_disconnected_in_time_and_others_are_answered() {
    let (senders, readers) = (crashes(1000, 10_000) / 4, crashes(50, 500));
    raise_own_file_limit();
    let store = Store::memory();
    let flags = ["--header-timeout", "--idle-timeout", "--body-timeout", "--write-timeout"];
    let launch = flags.iter().fold(Launch::on(&store), |launch, flag| launch.flag(flag, "10s"));
    let server = launch.flag("--max-connections", "20000").start();
    reset_peak_memory(&server);
    let mut others = Load::on(&server.client(), &Journal::new(), Outages::Never).readers(OTHERS);
    let mut slow = slow_clients(&server, senders, readers);
    let (clients, mut longest) = (slow.len(), Duration::ZERO);
    let deadline = LIMIT + LATENESS;
    while !slow.is_empty() {
        slow.retain_mut(|client| {
            // The age is read first, because the check may take long.
            let age = client.began.elapsed();
            let closed = client.is_closed();
            let filling = if client.reads { Duration::ZERO } else { FILLING };
            let what = (client.reads, client.trickles);
            assert!(closed || age < deadline + filling + TRICKLE, "open after {age:?}: {what:?}");
            longest = if closed { longest.max(age) } else { longest };
            !closed
        });
        thread::sleep(TRICKLE);
    }
    let peak = peak_memory(&server);
    assert!(peak < MAX_MEMORY, "the service used {peak} KiB");
    others.stop();
    say(&format!("{clients} slow clients: the last was closed after {longest:?}, {peak} KiB"));
}
