//! One writer, reader or probe.

use std::{
    sync::{
        Arc,
        atomic::{AtomicBool, Ordering},
    },
    thread,
    time::{Duration, Instant},
};

use serde_json::Value;

use super::journal::{Journal, Kind};
use crate::support::{
    additions::Addition,
    catalogue::id_of,
    client::{Call, Client},
    wait,
};

/// Between two requests of a writer or reader.
const BREATH: Duration = Duration::from_millis(8);
/// Between two requests of a probe, and before a failed one is sent again.
const PAUSE: Duration = Duration::from_millis(40);

/// Sends one request after the other until it is told to stop.
pub(crate) struct Worker {
    pub(crate) client: Client,
    pub(crate) journal: Arc<Journal>,
    pub(crate) stopping: Arc<AtomicBool>,
    /// Whether the store may be behind for a while, which whoever reads the journal checks.
    pub(crate) may_be_behind: bool,
}

impl Worker {
    fn goes_on(&self) -> bool {
        !self.stopping.load(Ordering::Relaxed)
    }

    /// Adds animals like no others; each even writer with idempotency keys.
    pub(crate) fn write(self, number: usize, stored: Option<&str>) -> Vec<Addition> {
        let mut additions = Vec::new();
        while self.goes_on() {
            let n = additions.len();
            let with_key = number.is_multiple_of(2);
            let mut addition = Addition::new(&format!("w{number} n{n}"), n, with_key);
            addition.api_key = stored.map(str::to_owned);
            addition.acknowledged = self.add(&addition);
            additions.push(addition);
            thread::sleep(BREATH);
        }
        additions
    }

    /// The animal as it came back. Only what has an idempotency key is sent again, until then.
    fn add(&self, addition: &Addition) -> Option<Value> {
        let kind = if addition.api_key.is_some() { Kind::AddWithStoredKey } else { Kind::Add };
        let mut last_try = None;
        loop {
            let answer = self.journal.send(kind, addition.call(&self.client));
            if answer.status == 201 {
                self.journal.acknowledge(answer.json());
                return Some(answer.json());
            }
            answer.refuses(503, "unavailable");
            thread::sleep(PAUSE);
            addition.key.as_ref()?;
            if !self.goes_on() {
                let given_up = *last_try.get_or_insert_with(|| Instant::now() + wait::LIMIT);
                assert!(Instant::now() < given_up, "the service never comes back");
            }
        }
    }

    /// Looks for what was acknowledged last, which must be there.
    pub(crate) fn read(self) {
        while self.goes_on() {
            let known = self.journal.acknowledged();
            if let Some(known) = known {
                let target = format!("/v1/pets/{}", id_of(&known));
                if let Some(found) = self.look(Kind::Read, self.client.get(&target)) {
                    assert_eq!(found, known, "an acknowledged animal");
                }
            }
            self.look(Kind::Read, self.client.get("/v1/pets?limit=5"));
            thread::sleep(BREATH);
        }
    }

    /// Sends the same request again and again.
    pub(crate) fn probe(self, kind: Kind, call: &Call) {
        while self.goes_on() {
            self.look(kind, call.clone());
            thread::sleep(PAUSE);
        }
    }

    /// The answer, unless the store is not there.
    fn look(&self, kind: Kind, call: Call) -> Option<Value> {
        let answer = self.journal.send(kind, call);
        if answer.status == 200 {
            return Some(answer.json());
        }
        if !(self.may_be_behind && answer.status == 404) {
            answer.refuses(503, "unavailable");
        }
        thread::sleep(PAUSE);
        None
    }
}
