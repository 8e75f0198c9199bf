//! Explores every course of a handover on a model of two stores, with the real [`next_step`](super::decide::next_step).
//!
//! The model carries out the steps in every order that crashes, lost answers, movers, operators and clients permit.
//! Every run ends, and leaves one store open unless it was killed. A service then uses the open store, whichever store
//! the service starts with.

mod traces;
mod world;

use std::{
    collections::{HashMap, VecDeque},
    hash::{Hash, Hasher},
};

use petstore_domain::{Phase, StoreId};

use self::world::{At, Budget, Event, Flight, Run, Store, World};
use crate::mover::{decide::is_sealed_to, step::End};

/// More states than any exploration has.
const MAX_STATES: usize = 200_000;

/// Returns two new stores.
fn fresh() -> [Store; 2] {
    [Store::new(1), Store::new(2)]
}

/// Returns two stores. The first was handed over to the second, which has one more animal.
fn handed_over() -> [Store; 2] {
    let [mut old, mut new] = fresh();
    old.rows = vec![(101, 0)];
    new.rows = vec![(101, 0), (102, 0)];
    (old.state.revision, new.state.revision) = (1, 2);
    old.state.phase = Phase::Sealed { to: StoreId([2; 16]), label: String::new() };
    new.state.phase = Phase::Open { from: Some(StoreId([1; 16])) };
    [old, new]
}

/// Returns the fault of a state; `None` for a correct state. In every correct state:
/// - every store that serves holds every acknowledged animal, and at most one animal of each request;
/// - two stores never serve at once. Only a raw copy of the source may be open beside the target;
/// - an open target holds the animals of the source unchanged.
fn fault(world: &World) -> Option<&'static str> {
    let serving: Vec<usize> = (0..2).filter(|store| world.serves(*store)).collect();
    if serving.len() == 2 && world.raw.is_none() {
        return Some("two stores are open");
    }
    let (source, target) = (&world.stores[world.source], &world.stores[1 - world.source]);
    for (request, id) in world.requests.iter().enumerate() {
        let name = u8::try_from(request).unwrap() + 1;
        for store in serving.iter().map(|store| &world.stores[*store]) {
            if store.rows.iter().filter(|row| row.0 == name).count() > 1 {
                return Some("an animal is there twice");
            }
            let is_raw = world.raw.is_some();
            if id.is_some_and(|id| !is_raw && store.rows.get(id).map(|row| row.0) != Some(name)) {
                return Some("an acknowledged animal is missing");
            }
        }
    }
    if target.state.is_successor_of(&source.state) && !source.state.phase.is_open() {
        let is_held = match &world.raw {
            None => target.rows.starts_with(&source.rows),
            Some(raw) => {
                raw.iter().all(|row| target.rows.contains(row))
                    || world.runs.iter().any(Run::is_active)
            }
        };
        if !is_held {
            return Some("the target is open without animals of the source");
        }
    }
    for flight in &world.flights {
        // Every flight left here can still take effect. Later reopenings only raise the revision of the source.
        if let Flight::Change(_, _, back) = flight
            && is_sealed_to(back, &source.state)
            && (source.state.phase.is_open() && !source.state.is_successor_of(back))
        {
            return Some("a late give-back leaves a service without an open store");
        }
    }
    let is_calm = !world.runs.iter().any(Run::is_active) && world.flights.is_empty();
    // The seal of a killed run stays until another run can read both stores.
    let left =
        |run: &Run| run.at == At::Crashed || world.killed && run.at == At::Ended(End::Failed);
    let is_killed = world.surprised || world.runs.iter().any(left);
    if is_calm && !is_killed && serving.len() != 1 && world.raw.is_none() {
        return Some("no store is open");
    }
    if is_calm && !is_killed && serving.len() == 1 && world.raw.is_none() {
        // Running services, and services that start with either store, use the open store.
        for at in 0..2 {
            let (other, current) = (&world.stores[1 - at].state, &world.stores[at].state);
            if !current.phase.is_open() && !crate::switch::takes_over(other, current) {
                return Some("a service uses no open store");
            }
        }
    }
    None
}

/// Explores every reachable state, breadth first. Returns the ends of all runs.
#[track_caller]
fn ends(stores: [Store; 2], source: usize, budget: Budget) -> Vec<End> {
    let begin = &Box::new(World::new(stores, source, budget));
    let mut places = HashMap::from([(fingerprint(begin), 0)]);
    let (mut waiting, mut parents) = (VecDeque::from([begin.clone()]), vec![(0, Vec::new())]);
    let (mut following, mut ends) = (Vec::<Vec<u32>>::new(), Vec::new());
    while let Some(world) = waiting.pop_front() {
        let place = following.len();
        assert!(
            place < MAX_STATES,
            "the states never end, after\n{}",
            path(begin, &parents, place)
        );
        if let Some(fault) = fault(&world) {
            panic!("{fault}, after\n{}", path(begin, &parents, place));
        }
        let mut next_places = Vec::new();
        for (events, mut next) in world.steps() {
            for run in &next.runs {
                if let At::Ended(end) = run.at
                    && !ends.contains(&end)
                {
                    ends.push(end);
                }
            }
            next.simplify();
            let known = *places.entry(fingerprint(&next)).or_insert_with(|| {
                waiting.push_back(next);
                parents.push((place, events));
                u32::try_from(parents.len() - 1).unwrap()
            });
            next_places.push(known);
        }
        following.push(next_places);
    }
    // Every path ends if the graph of states has no cycle.
    let mut before = vec![0_u32; following.len()];
    following.iter().flatten().for_each(|next| before[*next as usize] += 1);
    let (mut free, mut ordered) = (vec![0], 0);
    while let Some(place) = free.pop() {
        ordered += 1;
        for next in &following[place] {
            before[*next as usize] -= 1;
            if before[*next as usize] == 0 {
                free.push(*next as usize);
            }
        }
    }
    if ordered < following.len() {
        let place = before.iter().position(|before| *before > 0).unwrap();
        panic!("a run may never end, after\n{}", path(begin, &parents, place));
    }
    ends
}

/// A hasher that multiplies each word. An exploration takes half the time that it takes with the standard hasher.
struct FastHasher(u64);

impl Hasher for FastHasher {
    fn write(&mut self, bytes: &[u8]) {
        let (words, rest) = bytes.as_chunks();
        let words = words.iter().map(|word| u64::from_le_bytes(*word));
        for word in words.chain(rest.iter().copied().map(u64::from)) {
            self.write_u64(word);
        }
    }

    fn write_u8(&mut self, byte: u8) {
        self.write_u64(byte.into());
    }

    fn write_usize(&mut self, number: usize) {
        self.write_u64(number as u64);
    }

    fn write_u64(&mut self, word: u64) {
        let product = (self.0 ^ word).wrapping_mul(0x9e37_79b9_7f4a_7c15);
        self.0 = product ^ product >> 32;
    }

    fn finish(&self) -> u64 {
        self.0
    }
}

fn fingerprint(world: &impl Hash) -> u64 {
    let mut hasher = FastHasher(1);
    world.hash(&mut hasher);
    hasher.finish()
}

/// Returns the events that led to a state, each with the steps of the runs.
fn path(begin: &World, parents: &[(usize, Vec<Event>)], mut place: usize) -> String {
    let mut steps = Vec::new();
    while place > 0 {
        let (before, events) = &parents[place];
        steps.push(events);
        place = *before;
    }
    let (mut world, mut lines) = (Box::new(begin.clone()), Vec::new());
    for events in steps.into_iter().rev() {
        for event in events {
            world = world.after(*event);
            let runs: Vec<_> = world.runs.iter().map(|run| format!("{:?}", run.at)).collect();
            let stores = world.stores.each_ref().map(Store::shown);
            lines.push(format!("{event:?}: {stores:?} {}", runs.join("; ")));
        }
        world.simplify();
    }
    lines.join("\n")
}

#[test]
fn a_run_survives_crashes_lost_answers_and_stores_out_of_reach() {
    let lost = Budget { additions: 2, unanswered: 2, crashes: 1, runs: 2, ..Budget::default() };
    let unread = Budget { unanswered: 1, unread: 1, ..lost };
    for budget in [lost, unread] {
        let ends = ends(fresh(), 0, budget);
        assert!(ends.contains(&End::HandedOver), "{ends:?}");
    }
}

#[test]
fn a_late_or_stopped_run_leaves_the_source_open() {
    let late =
        Budget { additions: 2, late: 2, failures: 1, stops: 1, runs: 2, ..Budget::default() };
    let lost = Budget { additions: 2, unacknowledged: 1, unanswered: 1, ..late };
    let ends = [ends(fresh(), 0, late), ends(fresh(), 0, Budget { late: 1, failures: 0, ..lost })];
    assert!(ends.iter().all(|ends| ends.contains(&End::Stopped)), "{ends:?}");
}

#[test]
fn two_movers_at_once_do_no_harm() {
    let budget = Budget { additions: 1, unanswered: 1, movers: 2, ..Budget::default() };
    let ends = ends(fresh(), 0, budget);
    assert!(ends.contains(&End::Overtaken), "{ends:?}");
}

#[test]
fn two_movers_and_a_cancel_at_once_end_and_do_no_harm() {
    let budget = Budget { movers: 2, cancels: 1, ..Budget::default() };
    let ends = ends(fresh(), 0, budget);
    assert!(ends.contains(&End::Overtaken) && ends.contains(&End::TooLate), "{ends:?}");
}

#[test]
fn a_cancel_at_any_moment_leaves_one_store_open() {
    let killed = Budget { additions: 1, crashes: 1, movers: 1, cancels: 1, ..Budget::default() };
    let lost = Budget { additions: 0, crashes: 0, unanswered: 1, unread: 1, ..killed };
    let late = Budget { unanswered: 2, unread: 0, stops: 1, ..lost };
    for budget in [killed, lost, late] {
        let ends = ends(fresh(), 0, budget);
        assert!(ends.contains(&End::Canceled) && ends.contains(&End::TooLate), "{ends:?}");
    }
}

#[test]
fn rows_changed_by_sql_are_never_served_with_old_values() {
    let [mut old, new] = fresh();
    old.rows = vec![(101, 0), (102, 0)];
    let budget =
        Budget { additions: 1, sql: 2, late: 1, unanswered: 1, runs: 1, ..Budget::default() };
    let ends = ends([old, new], 0, budget);
    assert!(ends.contains(&End::Different) && ends.contains(&End::HandedOver), "{ends:?}");
}

#[test]
fn a_target_used_by_a_stranger_is_given_back() {
    let budget = Budget { additions: 1, strangers: 1, runs: 2, unanswered: 1, ..Budget::default() };
    let ends = ends(fresh(), 0, budget);
    assert!(ends.contains(&End::Different), "{ends:?}");
}

#[test]
fn the_way_back_is_a_handover_like_any_other() {
    let budget =
        Budget { additions: 1, unanswered: 1, crashes: 1, sql: 1, runs: 2, ..Budget::default() };
    let ends = ends(handed_over(), 1, budget);
    assert!(ends.contains(&End::Different) && ends.contains(&End::HandedOver), "{ends:?}");
}

#[test]
fn a_canceled_way_back_leaves_one_store_open() {
    let budget = Budget { movers: 1, cancels: 1, unanswered: 1, unread: 1, ..Budget::default() };
    let ends = ends(handed_over(), 1, budget);
    assert!(ends.contains(&End::Canceled) && ends.contains(&End::TooLate), "{ends:?}");
}

#[test]
fn a_raw_copy_of_the_source_is_sealed_only_if_the_target_holds_all_of_it() {
    let budget = Budget { additions: 2, restores: 1, runs: 3, ..Budget::default() };
    let ends = ends(fresh(), 0, Budget { unanswered: 1, late: 1, runs: 2, ..budget });
    assert!(ends.contains(&End::SealedAgain) && ends.contains(&End::Different), "{ends:?}");
}
