//! Single traces on the model, each a regression test.

use petstore_domain::Phase;

use super::{fresh, handed_over};
use crate::mover::{
    decide::next_step,
    observed::{Goal, Observed},
    step::{Change, End, Outcome, Step, Work},
    tests::world::{At, Budget, Event, World},
};

/// A budget larger than any trace needs.
const MUCH: Budget = Budget {
    additions: 9,
    unacknowledged: 9,
    unanswered: 99,
    failures: 9,
    unread: 99,
    late: 9,
    crashes: 9,
    stops: 9,
    sql: 9,
    strangers: 9,
    runs: 9,
    movers: 9,
    cancels: 9,
    restores: 9,
};

impl World {
    fn happens(&mut self, event: Event) {
        *self = *self.after(event);
    }

    /// Continues a run until its next step is `change`, or until it ends.
    fn until(&mut self, run: usize, change: Option<Change>) {
        for _ in 0..1_000 {
            match &self.runs[run].at {
                At::Acts(Step::Change(next, _)) if Some(*next) == change => return,
                At::Reads { .. } => self.happens(Event::Reads(run)),
                At::Acts(_) => self.happens(Event::Acts(run)),
                At::Ended(_) | At::Crashed => return,
            }
        }
        panic!("the run never ends: {self:#?}");
    }

    #[track_caller]
    fn ends(&mut self, run: usize, end: End) {
        self.until(run, None);
        assert_eq!(self.runs[run].at, At::Ended(end), "{:?}", self.stores);
        let fault = super::fault(self);
        assert_eq!(fault, None, "{:?}", self.stores);
    }

    /// Lets a service add an animal.
    fn adds(&mut self, service: usize) {
        self.happens(Event::Adds { service, answered: true });
    }

    fn phases(&self) -> [&'static str; 2] {
        self.stores.each_ref().map(|store| store.state.phase.parts().0)
    }
}

/// Returns a world with two animals in the source, and a mover whose next step is `before`. With `None`, the mover has
/// ended.
fn moving(before: Option<Change>) -> World {
    let mut world = World::new(fresh(), 0, MUCH);
    world.adds(0);
    world.adds(1);
    world.happens(Event::MoverBegins);
    world.until(0, before);
    world
}

#[test]
fn the_mover_asks_without_a_limit_after_a_lost_answer_to_the_opening() {
    for arrives in [true, false] {
        let mut world = moving(Some(Change::Open));
        world.happens(Event::HasNoAnswer(0));
        for _ in 0..50 {
            world.happens(Event::Reads(0));
            world.happens(Event::CannotRead(0));
            assert_eq!(world.runs[0].at, At::Acts(Step::Ask));
            world.happens(Event::Acts(0));
        }
        world.happens(if arrives { Event::Arrives(0) } else { Event::IsLost(0) });
        if !arrives {
            world.until(0, Some(Change::Claim));
            world.happens(Event::Acts(0));
            world.happens(Event::Reads(0));
            world.happens(Event::CannotRead(0));
            // No opening can arrive under the new claim, so the source is opened without the target.
            let next = &world.runs[0].at;
            assert!(matches!(next, At::Acts(Step::Change(Change::Reopen, _))), "{next:?}");
        }
        world.ends(0, End::HandedOver);
        assert_eq!(world.phases(), ["sealed", "open"]);
    }
}

#[test]
fn a_raw_copy_with_new_rows_during_the_comparison_is_opened_again() {
    let mut world = moving(None);
    world.happens(Event::RawCopy);
    world.happens(Event::RunBegins);
    world.until(0, Some(Change::Seal));
    world.adds(1);
    world.ends(0, End::Different);
    assert_eq!(world.phases(), ["open", "open"]);
    // Services of the target do not switch to the source.
    assert_eq!(world.stores[0].state.phase, Phase::Open { from: None });
}

#[test]
fn a_target_with_new_rows_before_the_claim_is_given_back() {
    let mut world = moving(Some(Change::Claim));
    world.happens(Event::Stranger);
    world.until(0, Some(Change::GiveBack));
    // A stop hides no difference.
    world.runs[0].seen.stop();
    world.ends(0, End::Different);
    assert_eq!(world.phases(), ["open", "open"]);
    assert_eq!(world.stores[1].state.phase, Phase::Open { from: None });
}

#[test]
fn a_target_that_never_opens_leaves_the_source_open() {
    let mut world = moving(Some(Change::Open));
    for _ in 0..world.tries {
        world.happens(Event::HasNoAnswer(0));
        world.happens(Event::IsLost(0));
        world.until(0, Some(Change::Reopen));
        world.happens(Event::Acts(0));
        world.adds(0);
        world.until(0, Some(Change::Open));
    }
    world.happens(Event::HasNoAnswer(0));
    world.happens(Event::IsLost(0));
    world.ends(0, End::Failed);
    assert_eq!(world.phases(), ["open", "filling"]);
}

/// A server may have lost the last change of its store before the way back.
#[test]
fn a_refused_way_back_leaves_its_target_as_it_was_and_services_at_the_source() {
    for (lost, is_late) in [(None, false), (Some(0), false), (Some(1), false), (None, true)] {
        let mut stores = handed_over();
        if let Some(lost) = lost {
            stores[lost].state = fresh()[lost].state.clone();
        }
        let before = stores[0].state.phase.clone();
        let mut world = World::new(stores, 1, MUCH);
        let mut canceled = world.clone();
        canceled.happens(Event::CancelBegins);
        canceled.ends(0, End::Canceled);
        world.happens(Event::RunBegins);
        if is_late {
            world.until(0, Some(Change::Open));
            world.happens(Event::HasNoAnswer(0));
            world.happens(Event::IsLost(0));
            world.until(0, Some(Change::Reopen));
            world.happens(Event::Acts(0));
        }
        world.happens(Event::Sql);
        world.ends(0, End::Different);
        assert_eq!(world.stores[0].state.phase, before);
        // A service that starts with the target switches to the source.
        let [target, source] = world.stores.each_ref().map(|store| &store.state);
        assert!(crate::switch::takes_over(source, target), "{lost:?}: {:?}", world.stores);
    }
}

#[test]
fn a_run_ends_if_the_source_is_rewritten_during_each_comparison() {
    let mut seen = Observed::new(Goal::HandOver, 1);
    for ending in [None, None, Some(End::Rewritten)] {
        seen.note(&Step::Work(Work::Compare), Outcome::Done);
        assert_eq!(seen.ending, ending);
    }
}

#[test]
fn a_run_ends_if_the_target_cannot_be_given_back() {
    for outcome in [Outcome::Failed, Outcome::Unanswered] {
        let mut world = moving(Some(Change::Claim));
        world.happens(Event::Stranger);
        world.until(0, Some(Change::GiveBack));
        for _ in 0..=world.tries {
            let At::Acts(step) = world.runs[0].at.clone() else { break };
            world.runs[0].seen.note(&step, outcome);
            world.runs[0].at = At::Reads { has_source: false };
            world.until(0, Some(Change::GiveBack));
        }
        assert_eq!(world.runs[0].at, At::Ended(End::Different), "{outcome:?}");
    }
}

#[test]
fn a_run_that_lost_its_claim_ends_for_its_own_reason_unless_another_mover_caused_it() {
    let [old, new] = fresh();
    let filling = new.state.next(Phase::Filling { from: old.state.id });
    for (target, ending, expected) in [
        (&filling, Some(End::Stopped), End::Stopped),
        (&filling, Some(End::Different), End::Overtaken),
        (&filling, None, End::Overtaken),
        (&new.state, Some(End::Different), End::Different),
    ] {
        let mut seen = Observed::new(Goal::HandOver, 1);
        (seen.source, seen.target) = (Some(old.state.clone()), Some(target.clone()));
        (seen.claim, seen.ending) = (Some(target.revision - 1), ending);
        assert_eq!(next_step(&seen), Step::End(expected), "{ending:?}");
    }
}

/// Each refused move of a raw copy raises the revision of the copy.
#[test]
fn a_raw_copy_that_was_refused_before_does_not_claim_the_target() {
    let mut world = moving(None);
    world.happens(Event::RawCopy);
    let target = world.stores[1].state.clone();
    for refusal in [End::Different, End::UsedTarget] {
        world.happens(Event::RunBegins);
        world.until(0, Some(Change::Seal));
        world.adds(1);
        world.until(0, None);
        assert_eq!(world.runs[0].at, At::Ended(refusal));
        assert_eq!(world.stores[1].state, target);
    }
}
