//! A modest load on a service while something goes wrong.

use std::{
    sync::{
        Mutex,
        atomic::{AtomicBool, AtomicUsize, Ordering},
    },
    thread,
    time::Duration,
};

use crate::support::{additions::Addition, client::Client, set_on_drop::SetOnDrop, wait};

const WRITERS: usize = 4;
const READERS: usize = 2;
/// Between two requests of one client.
const PAUSE: Duration = Duration::from_millis(2);

/// What clients saw until now.
#[derive(Default)]
pub(crate) struct Load {
    additions: Mutex<Vec<Addition>>,
    acknowledged: AtomicUsize,
    refused: AtomicUsize,
    reads: AtomicUsize,
    stopped: AtomicBool,
}

impl Load {
    /// Writers and readers ask `client` as long as `script` runs. Each write is answered 201, or 503
    /// with `Retry-After`, and each read 200.
    pub(crate) fn run(client: &Client, name: &str, script: impl FnOnce(&Self)) -> Vec<Addition> {
        let load = Self::default();
        thread::scope(|scope| {
            for writer in 0..WRITERS {
                let load = &load;
                scope.spawn(move || load.write(client, &format!("{name} w{writer}")));
            }
            for _ in 0..READERS {
                scope.spawn(|| load.read(client));
            }
            // Whatever fails, the clients end, and so does the test.
            let _stop = SetOnDrop(&load.stopped);
            script(&load);
        });
        load.additions.into_inner().unwrap()
    }

    /// Waits until so many more writes are acknowledged.
    #[track_caller]
    pub(crate) fn until_acknowledged(&self, more: usize) {
        Self::until("writes are acknowledged", &self.acknowledged, more);
    }

    /// Waits until so many more writes are refused.
    #[track_caller]
    pub(crate) fn until_refused(&self, more: usize) {
        Self::until("writes are refused", &self.refused, more);
    }

    /// Waits until so many more reads are answered.
    #[track_caller]
    pub(crate) fn until_read(&self, more: usize) {
        Self::until("reads are answered", &self.reads, more);
    }

    #[track_caller]
    fn until(what: &str, count: &AtomicUsize, more: usize) {
        let enough = count.load(Ordering::SeqCst) + more;
        wait::until(what, || count.load(Ordering::SeqCst) >= enough);
    }

    fn write(&self, client: &Client, name: &str) {
        for n in 0.. {
            if self.stopped.load(Ordering::SeqCst) {
                return;
            }
            let mut addition = Addition::new(&format!("{name} n{n}"), n, n.is_multiple_of(2));
            let answer = addition.call(client).send();
            let count = if answer.status == 201 {
                addition.acknowledged = Some(answer.json());
                &self.acknowledged
            } else {
                answer.refuses(503, "unavailable");
                &self.refused
            };
            self.additions.lock().unwrap().push(addition);
            count.fetch_add(1, Ordering::SeqCst);
            thread::sleep(PAUSE);
        }
    }

    fn read(&self, client: &Client) {
        while !self.stopped.load(Ordering::SeqCst) {
            client.get("/v1/pets?limit=3").send().is(200);
            self.reads.fetch_add(1, Ordering::SeqCst);
            thread::sleep(PAUSE);
        }
    }
}
