//! Clients that behave: each asks for a page now and then, on a connection of its own that it keeps.

use std::{
    fmt,
    sync::{
        Arc,
        atomic::{AtomicBool, Ordering},
    },
    thread::{self, JoinHandle},
    time::{Duration, Instant},
};

use crate::support::{KEY, client::Client, server::Server};

const CLIENTS: usize = 4;
/// Between two requests of one client.
const PAUSE: Duration = Duration::from_millis(10);

/// They ask until they are stopped.
pub(super) struct Others {
    stopped: Arc<AtomicBool>,
    clients: Vec<JoinHandle<Vec<Duration>>>,
}

impl Others {
    pub(super) fn start(server: &Server) -> Self {
        let stopped = Arc::<AtomicBool>::default();
        let clients = (0..CLIENTS)
            .map(|_| {
                let (client, stopped) = (server.client(), Arc::clone(&stopped));
                thread::spawn(move || ask(&client, &stopped))
            })
            .collect();
        Self { stopped, clients }
    }

    /// How long they waited for their answers, all of which came.
    pub(super) fn stop(self) -> Waits {
        self.stopped.store(true, Ordering::Relaxed);
        let waits = self.clients.into_iter().flat_map(|client| client.join().unwrap());
        let mut waits: Vec<_> = waits.collect();
        waits.sort_unstable();
        Waits(waits)
    }
}

fn ask(client: &Client, stopped: &AtomicBool) -> Vec<Duration> {
    let mut waits = Vec::new();
    while !stopped.load(Ordering::Relaxed) {
        let asked = Instant::now();
        client.get("/v1/pets").key(KEY).send().is(200);
        waits.push(asked.elapsed());
        thread::sleep(PAUSE);
    }
    waits
}

/// Sorted.
pub(super) struct Waits(Vec<Duration>);

impl fmt::Display for Waits {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let [median, p99] = [50, 99].map(|percent| self.0[(self.0.len() - 1) * percent / 100]);
        write!(f, "{median:.1?} (p99 {p99:.1?})")
    }
}
