//! Additions by several writers, until something ends them.

use std::{
    collections::HashSet,
    sync::{
        Mutex,
        atomic::{AtomicBool, Ordering},
    },
    thread,
};

use serde_json::Value;

use crate::support::{
    additions::Addition, answer::Answer, catalogue::everything, client::Client, wait,
};

const WRITERS: usize = 8;

/// Adds animals, every second writer with idempotency keys. After `enough` of them, while writers go
/// on, `end` ends the service; each writer stops when it has no 201.
///
/// `counts` is called for each 201 before the writer goes on. Where it answers `false`, it is not known
/// whether the animal was added.
pub(crate) fn write_until(
    client: &Client,
    name: &str,
    enough: usize,
    counts: impl Fn(&Value) -> bool + Sync,
    end: impl FnOnce(),
) -> Vec<Addition> {
    let (additions, stopped) = (Mutex::new(Vec::new()), AtomicBool::new(false));
    let write = |writer: usize| {
        for n in 0.. {
            let name = format!("{name} w{writer} n{n}");
            let mut addition = Addition::new(&name, n, writer.is_multiple_of(2));
            let pet = addition.call(client).try_send().ok().and_then(added);
            addition.acknowledged = pet.filter(&counts);
            let ended = addition.acknowledged.is_none() || stopped.load(Ordering::Relaxed);
            additions.lock().unwrap().push(addition);
            if ended {
                break;
            }
        }
    };
    thread::scope(|scope| {
        for writer in 0..WRITERS {
            let write = &write;
            scope.spawn(move || write(writer));
        }
        // Whatever fails, the writers end, and so does the test.
        let _stop = Stop(&stopped);
        wait::until("the additions are there", || additions.lock().unwrap().len() >= enough);
        end();
    });
    let additions = additions.into_inner().unwrap();
    assert!(additions.len() >= enough, "only {} additions", additions.len());
    additions
}

/// Stops the writers when it is dropped.
struct Stop<'s>(&'s AtomicBool);

impl Drop for Stop<'_> {
    fn drop(&mut self) {
        self.0.store(true, Ordering::Relaxed);
    }
}

/// The animal, if it was added. A store on a dying disk is unavailable.
fn added(answer: Answer) -> Option<Value> {
    if answer.status == 201 {
        return Some(answer.json());
    }
    answer.refuses(503, "unavailable");
    None
}

/// Sends every request that has an idempotency key again, as a client does that does not know what
/// happened. Afterwards each of these is acknowledged.
#[track_caller]
pub(crate) fn retry(client: &Client, additions: &mut [Addition]) {
    for addition in additions {
        if addition.key.is_none() {
            continue;
        }
        let answer = addition.call(client).send().is(201);
        if let Some(before) = &addition.acknowledged {
            assert_eq!(answer.must("idempotency-replayed"), "true");
            assert_eq!(&answer.json(), before);
        }
        addition.acknowledged = Some(answer.json());
    }
}

/// How many acknowledged animals are gone.
pub(crate) fn lost(client: &Client, additions: &[Addition]) -> usize {
    let there: HashSet<String> = everything(client).iter().map(Value::to_string).collect();
    let acknowledged = additions.iter().filter_map(|addition| addition.acknowledged.as_ref());
    acknowledged.filter(|pet| !there.contains(&pet.to_string())).count()
}
