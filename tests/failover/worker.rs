//! One writer, reader or probe.

use std::{
    sync::{
        Arc,
        atomic::{AtomicBool, Ordering},
    },
    thread,
    time::{Duration, Instant},
};

use serde_json::{Value, json};

use crate::{
    account::Attempt,
    journal::{Journal, Kind},
    support::{
        catalogue::{STATUSES, id_of},
        client::{Call, Client},
        wait,
    },
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
}

impl Worker {
    fn goes_on(&self) -> bool {
        !self.stopping.load(Ordering::Relaxed)
    }

    /// Adds animals like no others; each even writer with idempotency keys.
    pub(crate) fn write(self, number: usize, stored: Option<&str>) -> Vec<Attempt> {
        let mut attempts = Vec::new();
        while self.goes_on() {
            let pet = animal(number, attempts.len());
            let key = number.is_multiple_of(2).then(|| format!("w{number}-{}", attempts.len()));
            let mut attempt =
                Attempt { pet, key, stored: stored.map(str::to_owned), acknowledged: None };
            attempt.acknowledged = self.add(&attempt);
            attempts.push(attempt);
            thread::sleep(BREATH);
        }
        attempts
    }

    /// The animal as it came back. Only what has an idempotency key is sent again, until then.
    fn add(&self, attempt: &Attempt) -> Option<Value> {
        let kind = if attempt.stored.is_some() { Kind::AddWithStoredKey } else { Kind::Add };
        let mut last_try = None;
        loop {
            let answer = self.journal.send(kind, attempt.call(&self.client));
            if answer.status == 201 {
                self.journal.acknowledge(answer.json());
                return Some(answer.json());
            }
            answer.refuses(503, "unavailable");
            thread::sleep(PAUSE);
            attempt.key.as_ref()?;
            if !self.goes_on() {
                let given_up = *last_try.get_or_insert_with(|| Instant::now() + wait::PATIENCE);
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
        answer.refuses(503, "unavailable");
        thread::sleep(PAUSE);
        None
    }
}

/// An animal like no other.
fn animal(writer: usize, number: usize) -> Value {
    let mut pet = json!({"name": format!("🐾 w{writer} n{number}"), "categoryId": number});
    if let Some(status) = STATUSES.get(number % 4) {
        pet["status"] = (*status).into();
    }
    pet
}
