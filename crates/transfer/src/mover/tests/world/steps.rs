//! The steps of an exploration. Orders of events and details of states that make no difference are left out.

use super::{At, Event, Flight, Observed, World};
use crate::mover::{
    step::{End, Step},
    tests::fingerprint,
};

impl World {
    /// Returns the states that may follow, each with the events that lead to it: reads of states, and then one other
    /// event.
    ///
    /// A read takes place as late as possible: before its run acts, or before an event that changes what it reads. An
    /// earlier read would return the same state.
    pub(in crate::mover::tests) fn steps(&self) -> Vec<(Vec<Event>, Box<Self>)> {
        let mut all = Vec::new();
        for (event, next) in self.following() {
            self.add_steps(&[], event, next, &mut all);
        }
        for run in 0..self.runs.len() {
            for (reads, world) in self.reads(run, true) {
                if matches!(world.runs[run].at, At::Ended(_)) {
                    all.push((reads, world));
                    continue;
                }
                let acts = [Event::Acts(run), Event::Fails(run), Event::HasNoAnswer(run)];
                for (event, next) in world.following_of_run(run) {
                    if acts.contains(&event) {
                        world.add_steps(&reads, event, next, &mut all);
                    }
                }
            }
        }
        all
    }

    /// Adds the states after `event`, with and without reads of other runs before it. `next` is the state without
    /// such reads.
    fn add_steps(
        &self,
        before: &[Event],
        event: Event,
        next: Box<Self>,
        all: &mut Vec<(Vec<Event>, Box<Self>)>,
    ) {
        let changes = |at: usize| self.stores[at].state != next.stores[at].state;
        let changes = [changes(self.source), changes(1 - self.source)];
        if changes == [false, false] {
            return all.push(([before, &[event]].concat(), next));
        }
        let mut begins = Vec::<(Vec<Event>, Box<Self>)>::new();
        for reader in 0..self.runs.len() {
            let reads_source = self.runs[reader].at == (At::Reads { has_source: false });
            if !(changes[1] || changes[0] && reads_source) {
                continue;
            }
            let mut more = Vec::new();
            let others = begins.iter().map(|(before, world)| (&**before, &**world));
            for (before, world) in others.chain([(before, self)]) {
                let reads = world.reads(reader, changes[1]).into_iter();
                more.extend(reads.map(|(read, next)| ([before, &read].concat(), next)));
            }
            begins.extend(more);
        }
        for (before, world) in begins {
            all.push(([&*before, &[event]].concat(), world.after(event)));
        }
        all.push(([before, &[event]].concat(), next));
    }

    /// Returns the states after a run has read, or could not read, the source's state, and if `both` also the target's.
    fn reads(&self, run: usize, both: bool) -> Vec<(Vec<Event>, Box<Self>)> {
        let At::Reads { has_source } = self.runs[run].at else { return Vec::new() };
        let mut ends = Vec::new();
        for fails in [false, true] {
            if fails && self.budget.unread == 0 {
                continue;
            }
            let event = if fails { Event::CannotRead(run) } else { Event::Reads(run) };
            let mut next = Box::new(self.clone());
            next.read(run, has_source, fails);
            next.normalize();
            if both && !has_source {
                let later = next.reads(run, true).into_iter();
                ends.extend(later.map(|(after, next)| ([&[event], &*after].concat(), next)));
            } else {
                ends.push((vec![event], next));
            }
        }
        ends
    }

    /// Removes what later steps do not depend on: runs that have ended, and the order of runs. Also lowers all
    /// revisions alike, because movers only compare revisions and raise them.
    pub(in crate::mover::tests) fn simplify(&mut self) {
        let killed = self.killed;
        self.runs.retain(|run| match run.at {
            At::Ended(end) => killed && end == End::Failed,
            At::Reads { .. } | At::Acts(_) | At::Crashed => true,
        });
        self.runs.sort_by_cached_key(fingerprint);
        if self.budget.restores == 0 {
            self.saved = None;
        }
        let mut least = i64::MAX;
        self.visit_revisions(&mut |revision| least = least.min(*revision));
        self.visit_revisions(&mut |revision| *revision -= (least - 1).max(0));
    }

    fn visit_revisions(&mut self, visit: &mut dyn FnMut(&mut i64)) {
        for store in self.stores.iter_mut().chain(&mut self.saved) {
            visit(&mut store.state.revision);
        }
        for flight in &mut self.flights {
            match flight {
                Flight::Change(_, expected, state) => {
                    [expected, &mut state.revision].into_iter().for_each(&mut *visit);
                }
                Flight::Rows(_, claim, ..) => visit(claim),
            }
        }
        for run in &mut self.runs {
            let Observed { source, target, claim, opening, seal, .. } = &mut run.seen;
            [claim, opening, seal].into_iter().flatten().for_each(&mut *visit);
            for state in [source, target].into_iter().flatten() {
                visit(&mut state.revision);
            }
            if let At::Acts(Step::Change(_, state)) = &mut run.at {
                visit(&mut state.revision);
            }
        }
    }
}
