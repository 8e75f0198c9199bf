//! Requests whose end can be read in two ways. The service reads each request in one way, or refuses the request and
//! closes the connection.

use std::time::Duration;

use crate::{
    faults::tricks::{self, Trick},
    support::{
        raw::{Raw, head},
        server::Server,
    },
};

/// The time limit for an answer, on a busy machine.
const SILENCE: Duration = Duration::from_secs(20);

/// Returns the statuses of the answers until the service closes the connection, or waits for more bytes.
fn statuses(raw: &mut Raw, expected: usize) -> Vec<u16> {
    let mut statuses = Vec::new();
    while let Ok(answer) = raw.try_answer(false) {
        statuses.push(answer.status);
        // After the expected answers, an open connection stays silent.
        let limit = if statuses.len() < expected { SILENCE } else { Duration::from_millis(20) };
        if !raw.hears_within(limit) {
            break;
        }
    }
    statuses
}

#[test]
fn the_service_reads_each_request_in_one_way_or_refuses_it() {
    let server = Server::in_memory();
    for Trick { what, bytes, statuses: expected } in tricks::all() {
        let mut raw = server.raw();
        raw.send(&bytes);
        let actual = statuses(&mut raw, expected.len());
        assert_eq!(actual, expected, "{what}: {}", String::from_utf8_lossy(&bytes));
    }
    let mut raw = server.raw();
    raw.send(head("GET", "/livez", ""));
    raw.answer("GET", "/livez").is(200);
}
