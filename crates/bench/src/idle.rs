//! Memory of connections that are open and silent, as keep-alive makes them.

use std::{
    io::{Read as _, Write as _},
    net::{SocketAddr, TcpStream},
    time::Instant,
};

use petstore_bench::table::{Table, mebibytes, whole};
use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};
use serde_json::json;

use crate::{
    bench::Bench,
    catalogue::Seed,
    client::Client,
    console::note,
    failure::{Context as _, Failure, Outcome},
    procfs,
    report::Report,
    server::Server,
    workload::hot,
};

/// Files of this process besides the connections.
const OWN_FILES: u64 = 100;

pub(crate) fn run(bench: &Bench, connections: usize) -> Outcome<Report> {
    raise_limit(connections)?;
    let seed = Seed::make(&bench.binary, bench.folder(), 10_000)?;
    let folder = bench.fresh_folder()?;
    let store = seed.copy_to(folder.path())?.url();
    let server = Server::petstore(&bench.binary, &store, &folder.path().join("log"))?;
    // What the first requests allocate is not of the connections.
    for _ in 0..64 {
        Client::connect(server.address)?.ask(&hot())?;
    }
    let before = procfs::memory(server.pid())?;
    note(format_args!("opening {connections} connections"));
    let began = Instant::now();
    let open = open(server.address, connections)?;
    let seconds = began.elapsed().as_secs_f64();
    let after = procfs::memory(server.pid())?;
    let still_open = open.iter().filter(|stream| is_open(stream)).count();
    if still_open < connections {
        return Err(Failure::new(format!(
            "only {still_open} of {connections} connections were still open after {seconds:.1} s: \
             the service closes those that are idle for 10 s, so this machine is too slow for so many"
        )));
    }
    let each = after.resident.saturating_sub(before.resident) as f64 * 1024.0 / connections as f64;
    let mut table = Table::new(&["idle connections", "RSS before", "RSS with them", "bytes each"]);
    table.add(vec![
        whole(connections as f64),
        mebibytes(before.resident),
        mebibytes(after.resident),
        whole(each),
    ]);
    Ok(Report {
        name: "idle",
        title: "Idle connections".to_owned(),
        table,
        rows: vec![json!({
            "connections": connections,
            "resident_before_kib": before.resident,
            "resident_after_kib": after.resident,
            "bytes_each": each,
        })],
        notes: vec![
            "Each connection had one list of 20 answered before. Memory of the kernel's socket \
             buffers is not counted."
                .to_owned(),
        ],
    })
}

/// Raises the soft limit on open files, as far as the hard one lets it.
fn raise_limit(connections: usize) -> Outcome<()> {
    let wanted = OWN_FILES + connections as u64;
    let Rlimit { current, maximum } = getrlimit(Resource::Nofile);
    if current.is_none_or(|current| current >= wanted) {
        return Ok(());
    }
    if maximum.is_some_and(|maximum| maximum < wanted) {
        return Err(Failure::new(format!(
            "{connections} connections need {wanted} open files, and the hard limit is {}",
            maximum.unwrap_or(0)
        )));
    }
    setrlimit(Resource::Nofile, Rlimit { current: Some(wanted), maximum })
        .cannot("raise the limit on open files")
}

/// Opens connections that each had a request answered.
fn open(address: SocketAddr, connections: usize) -> Outcome<Vec<TcpStream>> {
    let request = hot().to_http1();
    let mut answer = vec![0; 64 * 1024];
    let one = |_| {
        let mut stream = TcpStream::connect(address).cannot("open a connection")?;
        stream.write_all(request.as_bytes()).cannot("send a request")?;
        read_answer(&mut stream, &mut answer)?;
        Ok(stream)
    };
    (0..connections).map(one).collect()
}

/// Reads until the end of the array, which is the end of the answer.
fn read_answer(stream: &mut TcpStream, buffer: &mut [u8]) -> Outcome<()> {
    let mut length = 0;
    loop {
        let read = stream.read(&mut buffer[length..]).cannot("read an answer")?;
        length += read;
        let answer = &buffer[..length];
        if read == 0 || !answer.starts_with(b"HTTP/1.1 200 ") {
            let shown = String::from_utf8_lossy(answer);
            return Err(Failure::new(format!("WRONG ANSWER on an idle connection: '{shown}'")));
        }
        if answer.ends_with(b"}]") {
            return Ok(());
        }
    }
}

/// Whether the other end has not closed: there is nothing to read, and no end either.
fn is_open(stream: &TcpStream) -> bool {
    let mut byte = [0];
    stream.set_nonblocking(true).is_ok()
        && stream.peek(&mut byte).is_err_and(|error| error.kind() == std::io::ErrorKind::WouldBlock)
}
