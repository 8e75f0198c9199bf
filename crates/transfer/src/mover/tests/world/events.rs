//! The events that may occur next.

use petstore_domain::Phase;

use super::{At, Event, Flight, Run, World};
use crate::{
    mover::{
        observed::Goal,
        step::{Outcome, Step},
    },
    switch::takes_over,
};

impl World {
    pub(super) fn events_of_clients(&self, all: &mut Vec<(Event, Box<Self>)>) {
        for service in 0..2 {
            let at = self.services[service];
            let (current, other) = (&self.stores[at].state, &self.stores[1 - at].state);
            if takes_over(other, current) {
                let mut next = Box::new(self.clone());
                next.services[service] = 1 - at;
                all.push((Event::Polls(service), next));
            }
            let known = self.requests.iter().position(Option::is_none);
            let request = known.or((self.budget.additions > 0).then_some(self.requests.len()));
            let Some(request) = request.filter(|_| current.phase.is_open()) else { continue };
            for lost in [false, true] {
                if lost && self.budget.unacknowledged == 0 {
                    continue;
                }
                let mut next = Box::new(self.clone());
                if request == next.requests.len() {
                    next.budget.additions -= 1;
                    next.requests.push(None);
                }
                next.budget.unacknowledged -= u8::from(lost);
                let rows = &mut next.stores[at].rows;
                let name = u8::try_from(request).unwrap() + 1;
                let place = rows.iter().position(|row| row.0 == name).unwrap_or(rows.len());
                if place == rows.len() {
                    rows.push((name, 0));
                }
                match &mut next.raw {
                    Some(raw) if at == self.source => raw.push((name, 0)),
                    _ => {}
                }
                if !lost {
                    next.requests[request] = Some(place);
                }
                all.push((Event::Adds { service, answered: !lost }, next));
            }
        }
    }

    pub(super) fn events_of_operators(&self, all: &mut Vec<(Event, Box<Self>)>) {
        let Self { source, budget, .. } = self;
        let (source, target) = (*source, 1 - *source);
        let mut event = |event, may: bool, change: &dyn Fn(&mut Self)| {
            if may {
                let mut next = Box::new(self.clone());
                change(&mut next);
                all.push((event, next));
            }
        };
        let is_calm = !self.runs.iter().any(Run::is_active);
        event(Event::RunBegins, budget.runs > 0 && is_calm, &|next| {
            next.budget.runs -= 1;
            next.runs = vec![Run::new(source, Goal::HandOver, next.tries)];
        });
        event(Event::MoverBegins, budget.movers > 0, &|next| {
            next.budget.movers -= 1;
            next.runs.push(Run::new(source, Goal::HandOver, next.tries));
        });
        event(Event::CancelBegins, budget.cancels > 0, &|next| {
            next.budget.cancels -= 1;
            next.runs.push(Run::new(source, Goal::Cancel, next.tries));
        });
        let rows = &self.stores[source].rows;
        let changes =
            budget.sql > 0 && self.stores[source].state.phase.is_open() && !rows.is_empty();
        event(Event::Sql, changes, &|next| {
            next.budget.sql -= 1;
            next.stores[source].rows[0].1 += 1;
            next.stores[source].state.rewrites += 1;
        });
        let is_own = self.stores[target].state.phase == (Phase::Open { from: None });
        event(Event::Stranger, budget.strangers > 0 && is_own, &|next| {
            next.budget.strangers -= 1;
            next.stores[target].rows.push((100, 0));
        });
        event(Event::RawCopy, budget.restores > 0 && is_calm && self.serves(target), &|next| {
            next.budget.restores -= 1;
            next.stores[source] = next.saved.clone().unwrap();
            next.raw = Some(Vec::new());
            // The second service restarts with the raw copy as its current store.
            next.services[1] = source;
        });
    }

    pub(super) fn reads_of_run(&self, index: usize, all: &mut Vec<(Event, Box<Self>)>) {
        let At::Reads { has_source } = self.runs[index].at else { return };
        for (event, fails) in [(Event::Reads(index), false), (Event::CannotRead(index), true)] {
            if !fails || self.budget.unread > 0 {
                let mut next = Box::new(self.clone());
                next.read(index, has_source, fails);
                all.push((event, next));
            }
        }
    }

    pub(super) fn events_of_run(&self, index: usize, all: &mut Vec<(Event, Box<Self>)>) {
        let run = &self.runs[index];
        if !run.is_active() {
            return;
        }
        let mut event = |event, change: &dyn Fn(&mut Self)| {
            let mut next = Box::new(self.clone());
            change(&mut next);
            all.push((event, next));
        };
        if self.budget.crashes > 0 {
            event(Event::Crashes(index), &|next| {
                next.budget.crashes -= 1;
                next.killed = true;
                next.runs[index].at = At::Crashed;
            });
        }
        match &run.at {
            At::Reads { .. } => {
                if self.budget.late > 0 && !run.seen.is_late {
                    event(Event::IsLate(index), &|next| {
                        next.budget.late -= 1;
                        next.runs[index].seen.is_late = true;
                    });
                }
                if self.budget.stops > 0 {
                    event(Event::IsToStop(index), &|next| {
                        next.budget.stops -= 1;
                        next.runs[index].seen.stop();
                    });
                }
            }
            At::Acts(step) => {
                event(Event::Acts(index), &|next| next.act(index, step));
                let is_change = matches!(step, Step::Change(..));
                let failed = Outcome::Unanswered;
                if self.budget.failures > 0 && (is_change || matches!(step, Step::Work(_))) {
                    event(Event::Fails(index), &|next| {
                        next.budget.failures -= 1;
                        next.finish(index, step, failed);
                    });
                }
                let flight = self.flight(run, step).filter(|_| self.budget.unanswered > 0);
                if let Some(flight) = flight {
                    event(Event::HasNoAnswer(index), &|next| {
                        next.budget.unanswered -= 1;
                        next.flights.push(flight.clone());
                        next.finish(index, step, failed);
                    });
                }
            }
            At::Ended(_) | At::Crashed => {}
        }
    }

    pub(super) fn events_of_flight(&self, index: usize, all: &mut Vec<(Event, Box<Self>)>) {
        let mut lost = Box::new(self.clone());
        let message = lost.flights.remove(index);
        let mut next = lost.clone();
        match message {
            Flight::Change(store, expected, state) => {
                next.stores[store].change(expected, &state);
            }
            Flight::Rows(store, claim, from, rows) => {
                next.stores[store].write(claim, from, &rows);
            }
        }
        next.surprised |= next.killed;
        all.extend([(Event::Arrives(index), next), (Event::IsLost(index), lost)]);
    }
}
