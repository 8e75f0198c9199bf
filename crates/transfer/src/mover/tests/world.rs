//! A model of two stores, two services and movers, with every event that may occur.

mod events;
mod steps;

use std::iter;

use petstore_domain::{Phase, StoreId, StoreState, WriterRole};

use crate::mover::{
    decide::next_step,
    observed::{Goal, Observed},
    step::{Change, End, Outcome, Step, Work},
};

/// An animal: the request that added it, and a value that SQL may change. Its index in `rows` determines its
/// identifier.
pub(super) type Row = (u8, u8);

#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(super) struct Store {
    pub(super) state: StoreState,
    pub(super) rows: Vec<Row>,
}

impl Store {
    pub(super) fn new(id: u8) -> Self {
        let state = StoreState {
            id: StoreId([id; 16]),
            revision: 0,
            rewrites: 0,
            phase: Phase::Open { from: None },
        };
        Self { state, rows: Vec::new() }
    }

    /// Returns a short description of the store.
    pub(super) fn shown(&self) -> String {
        let StoreState { revision, phase, .. } = &self.state;
        format!("{revision} {} {:?}", phase.parts().0, self.rows)
    }

    fn change(&mut self, expected: i64, new: &StoreState) -> bool {
        let changes = self.state.revision == expected;
        if changes {
            self.state = StoreState { rewrites: self.state.rewrites, ..new.clone() };
        }
        changes
    }

    /// Writes rows as a mover, from the place `from` on, under their own identifiers.
    fn write(&mut self, claim: i64, from: usize, rows: &[Row]) -> Outcome {
        if self.state.permit_write(WriterRole::Mover(claim)).is_err() {
            return Outcome::Fenced;
        }
        let theirs = &self.rows[from..];
        let both = theirs.len().min(rows.len());
        if theirs[..both] != rows[..both] {
            return Outcome::Different;
        }
        self.rows.extend_from_slice(&rows[both..]);
        Outcome::Done
    }
}

/// A message that may still arrive at a store although its sender no longer waits for an answer.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(super) enum Flight {
    /// A new state for a store, with the revision that the change expects.
    Change(usize, i64, StoreState),
    /// Rows for a store, under a claim, from a place on.
    Rows(usize, i64, usize, Vec<Row>),
}

/// One run of a command.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(super) struct Run {
    pub(super) source: usize,
    pub(super) seen: Observed,
    pub(super) at: At,
    /// The numbers of copied and of compared rows.
    copied: usize,
    checked: usize,
}

#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(super) enum At {
    /// The run reads the states, the source first.
    Reads {
        has_source: bool,
    },
    Acts(Step),
    Ended(End),
    Crashed,
}

impl Run {
    pub(super) fn new(source: usize, goal: Goal, tries: u32) -> Self {
        let seen = Observed::new(goal, tries);
        let at = At::Reads { has_source: false };
        Self { source, seen, at, copied: 0, checked: 0 }
    }

    fn decide(&mut self) {
        self.at = match next_step(&self.seen) {
            Step::End(end) => At::Ended(end),
            step @ (Step::Change(..) | Step::Work(_) | Step::Ask) => At::Acts(step),
        };
    }

    pub(super) fn is_active(&self) -> bool {
        matches!(self.at, At::Reads { .. } | At::Acts(_))
    }
}

/// The number of times that each event may still occur.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub(super) struct Budget {
    /// Requests that clients make.
    pub(super) additions: u8,
    /// Answers to clients that are lost.
    pub(super) unacknowledged: u8,
    /// Calls of movers whose answer is lost. The call takes effect later or never.
    pub(super) unanswered: u8,
    /// Calls of movers that fail without an effect.
    pub(super) failures: u8,
    /// States that cannot be read.
    pub(super) unread: u8,
    /// Runs for which the time limit under the seal passes.
    pub(super) late: u8,
    /// Runs that are killed.
    pub(super) crashes: u8,
    /// Runs whose user asks for a stop.
    pub(super) stops: u8,
    /// Changes of the first animal of the source by SQL.
    pub(super) sql: u8,
    /// Rows that a stranger adds to the target while it is a store of its own.
    pub(super) strangers: u8,
    /// Runs of the mover, one after the other.
    pub(super) runs: u8,
    /// Runs of the mover at any time.
    pub(super) movers: u8,
    /// Runs that cancel a handover, at any time.
    pub(super) cancels: u8,
    /// Replacements of the source's file by an earlier copy.
    pub(super) restores: u8,
}

/// An event. Runs, services and flights are numbered by their place.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Event {
    /// A service switches to the other store.
    Polls(usize),
    /// A service adds an animal for a client, or repeats an earlier addition that the client got no answer to.
    Adds {
        service: usize,
        answered: bool,
    },
    /// A message arrives whose sender no longer waits for an answer.
    Arrives(usize),
    IsLost(usize),
    /// A mover begins while no other run is active.
    RunBegins,
    /// A mover begins, possibly beside other runs.
    MoverBegins,
    CancelBegins,
    Sql,
    Stranger,
    /// The earlier copy replaces the source's file.
    RawCopy,
    Crashes(usize),
    /// A run reads the next state.
    Reads(usize),
    CannotRead(usize),
    IsLate(usize),
    IsToStop(usize),
    /// A run carries out its step.
    Acts(usize),
    /// The step of a run fails without an effect.
    Fails(usize),
    /// The step of a run gets no answer. Its message may still arrive.
    HasNoAnswer(usize),
}

#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(super) struct World {
    pub(super) stores: [Store; 2],
    /// The store that is handed over.
    pub(super) source: usize,
    /// The store that each service uses.
    pub(super) services: [usize; 2],
    pub(super) runs: Vec<Run>,
    pub(super) flights: Vec<Flight>,
    pub(super) budget: Budget,
    /// The requests of clients, each with the identifier in its answer.
    pub(super) requests: Vec<Option<usize>>,
    /// The number of retries of a run.
    pub(super) tries: u32,
    /// `true` if a run was killed.
    pub(super) killed: bool,
    /// `true` if a message of a killed run has arrived since the last read of the source's state.
    pub(super) surprised: bool,
    /// A raw copy of the source, made before the first event; `None` if it can no longer replace the source.
    saved: Option<Store>,
    /// The rows that only a raw copy of the source has acknowledged; `None` if the source is no raw copy.
    pub(super) raw: Option<Vec<Row>>,
}

impl World {
    pub(super) fn new(stores: [Store; 2], source: usize, budget: Budget) -> Self {
        Self {
            saved: (budget.restores > 0).then(|| stores[source].clone()),
            stores,
            source,
            services: [source; 2],
            runs: Vec::new(),
            flights: Vec::new(),
            budget,
            requests: Vec::new(),
            tries: 1,
            killed: false,
            surprised: false,
            raw: None,
        }
    }

    /// Returns whether services may use a store. They may use the target only after it has taken the source's place.
    pub(super) fn serves(&self, store: usize) -> bool {
        match &self.stores[store].state.phase {
            Phase::Open { from } => store == self.source || from.is_some(),
            Phase::Filling { .. } | Phase::Sealed { .. } => false,
        }
    }

    /// Returns the state after an event, which must be possible.
    #[track_caller]
    pub(super) fn after(&self, event: Event) -> Box<Self> {
        let of_runs = (0..self.runs.len()).flat_map(|run| self.following_of_run(run));
        let mut all = of_runs.chain(iter::once_with(|| self.following()).flatten());
        let next = all.find(|(of, _)| *of == event);
        next.unwrap_or_else(|| panic!("{event:?} cannot happen: {self:#?}")).1
    }

    /// Returns every possible event except a read, with the state that follows.
    pub(super) fn following(&self) -> Vec<(Event, Box<World>)> {
        let mut all = Vec::new();
        self.events_of_clients(&mut all);
        self.events_of_operators(&mut all);
        for run in 0..self.runs.len() {
            self.events_of_run(run, &mut all);
        }
        for flight in 0..self.flights.len() {
            self.events_of_flight(flight, &mut all);
        }
        normalized(all)
    }

    /// Returns every possible event of one run with the state that follows.
    pub(super) fn following_of_run(&self, run: usize) -> Vec<(Event, Box<World>)> {
        let mut all = Vec::new();
        self.reads_of_run(run, &mut all);
        self.events_of_run(run, &mut all);
        normalized(all)
    }

    /// Removes details without an effect on later states.
    fn normalize(&mut self) {
        let stores = &self.stores;
        self.flights.retain(|flight| match flight {
            Flight::Change(store, expected, _) => stores[*store].state.revision == *expected,
            Flight::Rows(store, claim, ..) => stores[*store].state.revision == *claim,
        });
        if self.raw.is_none() {
            self.services.sort_unstable();
        }
        for run in self.runs.iter_mut().filter(|run| !run.is_active()) {
            *run = Run { at: run.at.clone(), ..Run::new(run.source, Goal::HandOver, 0) };
        }
    }

    /// Returns the message that a step sends; `None` if the step sends no message.
    fn flight(&self, run: &Run, step: &Step) -> Option<Flight> {
        let store =
            |change: Change| if change.is_of_source() { run.source } else { 1 - run.source };
        let state = |of: usize| if of == run.source { &run.seen.source } else { &run.seen.target };
        match step {
            Step::Change(change, new) => {
                let store = store(*change);
                Some(Flight::Change(store, state(store).as_ref()?.revision, new.clone()))
            }
            Step::Work(Work::Follow | Work::Finish) if !run.seen.is_behind => {
                let claim = run.seen.target.as_ref()?.revision;
                let rows = self.stores[run.source].rows.get(run.copied..)?.to_vec();
                Some(Flight::Rows(1 - run.source, claim, run.copied, rows))
            }
            Step::Work(_) | Step::Ask | Step::End(_) => None,
        }
    }

    fn read(&mut self, index: usize, has_source: bool, fails: bool) {
        self.budget.unread -= u8::from(fails);
        let run = &mut self.runs[index];
        let store = if has_source { 1 - run.source } else { run.source };
        let state = (!fails).then(|| self.stores[store].state.clone());
        if !has_source {
            run.seen.source = state;
            self.surprised = false;
            return run.at = At::Reads { has_source: true };
        }
        run.seen.target = state;
        run.decide();
    }

    /// Carries out a step.
    fn act(&mut self, index: usize, step: &Step) {
        let run = &self.runs[index];
        let (source, target) = (run.source, 1 - run.source);
        let [source_rows, target_rows] = [source, target].map(|at| self.stores[at].rows.clone());
        let checked = run.checked;
        let equal = |equal: bool| if equal { Outcome::Done } else { Outcome::Different };
        let outcome = match (step, self.flight(run, step)) {
            (Step::Change(..), Some(Flight::Change(store, expected, state))) => {
                let changed = self.stores[store].change(expected, &state);
                if changed { Outcome::Done } else { Outcome::Fenced }
            }
            (Step::Work(Work::Compare), _) if run.seen.is_handed_over() => {
                self.runs[index].checked = source_rows.len();
                equal(target_rows.starts_with(&source_rows))
            }
            (Step::Work(Work::Compare), _) => {
                let empty = run.seen.must_be_empty();
                (self.runs[index].copied, self.runs[index].checked) = (target_rows.len(), 0);
                equal(source_rows.starts_with(&target_rows) && (target_rows.is_empty() || !empty))
            }
            (Step::Work(_), Some(Flight::Rows(store, claim, from, rows))) => {
                let outcome = self.stores[store].write(claim, from, &rows);
                (self.runs[index].copied, self.runs[index].checked) =
                    (source_rows.len(), source_rows.len());
                let is_equal = self.stores[store].rows.get(checked..) == source_rows.get(checked..);
                if outcome == Outcome::Done { equal(is_equal) } else { outcome }
            }
            (Step::Work(Work::Finish), None) => {
                let [source, target] =
                    [source_rows, target_rows].map(|rows| rows.get(checked..).map(<[_]>::to_vec));
                let both = target.zip(source);
                equal(both.is_some_and(|(target, source)| target.starts_with(&source)))
            }
            _ => Outcome::Unanswered,
        };
        self.finish(index, step, outcome);
    }

    fn finish(&mut self, index: usize, step: &Step, outcome: Outcome) {
        let run = &mut self.runs[index];
        run.seen.note(step, outcome);
        // A step uses up the states that the run has read.
        (run.seen.source, run.seen.target, run.seen.is_late) = (None, None, false);
        run.at = At::Reads { has_source: false };
    }
}

fn normalized(mut all: Vec<(Event, Box<World>)>) -> Vec<(Event, Box<World>)> {
    for (_, next) in &mut all {
        next.normalize();
    }
    all
}
