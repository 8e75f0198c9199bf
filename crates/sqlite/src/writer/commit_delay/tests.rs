use std::{
    sync::Arc,
    thread,
    time::{Duration, Instant},
};

use tokio::sync::mpsc;

use super::{CommitDelay, Delay, FREE, History, MAX_DELAY, SLOW_COMMIT, TURN};

const NO_TIME: Duration = Duration::ZERO;

/// A transaction of 8 writers whose commit took `commit_time` and ends at the returned moment, in a turn
/// that began `turn` before it and had the lock free for `free`.
fn history(commit_time: Duration, turn: Duration, free: Duration) -> (History, Instant) {
    let turn_began = Instant::now();
    let ended = turn_began + turn;
    (History { writers: 8, commit_time, ended, turn_began, free }, ended)
}

#[test]
fn most_of_the_writers_are_waited_for_where_a_commit_is_quick() {
    let (history, ended) = history(SLOW_COMMIT / 2, TURN / 2, NO_TIME);
    assert_eq!(history.delay(ended), Delay { until: ended + MAX_DELAY, enough: 6 });
    let alone = History { writers: 1, ..history };
    assert_eq!(alone.delay(ended).enough, 0);
}

#[test]
fn nothing_is_waited_for_where_a_commit_is_slow() {
    let (history, ended) = history(SLOW_COMMIT, TURN / 2, NO_TIME);
    assert_eq!(history.delay(ended), Delay { until: ended, enough: 0 });
}

#[test]
fn after_a_turn_the_lock_is_left_free_for_what_is_missing() {
    for commit_time in [NO_TIME, SLOW_COMMIT] {
        let (history, ended) = history(commit_time, TURN, FREE / 4);
        let began = ended + FREE / 4;
        let delay = history.delay(began);
        assert_eq!(delay, Delay { until: began + FREE / 2, enough: usize::MAX });
    }
}

#[test]
fn a_turn_in_which_the_lock_was_free_is_followed_by_the_next_one_at_once() {
    let (free_before, ended) = history(SLOW_COMMIT, TURN, FREE);
    assert_eq!(free_before.delay(ended), Delay { until: ended, enough: 0 });
    let (mut free_since, ended) = history(SLOW_COMMIT, TURN, NO_TIME);
    let now = ended + FREE;
    assert_eq!(free_since.delay(now), Delay { until: now, enough: 0 });

    free_since.begin(now);
    assert_eq!((free_since.turn_began, free_since.free), (now, NO_TIME));
    free_since.ended = now + TURN / 2;
    free_since.begin(free_since.ended + FREE / 4);
    assert_eq!((free_since.turn_began, free_since.free), (now, FREE / 4));
}

/// The group that begins when `before` writes were there, the first of them in the group already, and
/// another thread queues `later` ones.
fn group(delay: &mut CommitDelay, before: usize, later: usize) -> Vec<usize> {
    let (sender, mut queue) = mpsc::channel(100);
    for write in 1..before {
        sender.try_send(write).unwrap();
    }
    let notify = Arc::clone(delay.notify());
    // Not one of a scope: when the last of those ends, it wakes up the thread of the scope.
    let other = thread::spawn(move || {
        for write in before..before + later {
            thread::sleep(Duration::from_millis(5));
            sender.try_send(write).unwrap();
            notify.queued(sender.max_capacity() - sender.capacity());
        }
    });
    let mut group = vec![0];
    delay.wait(&mut group, &mut queue);
    other.join().unwrap();
    group
}

/// After a quick commit of so many `writers`, which ended so late that the delay lasts a minute.
fn after_quick_commit(writers: usize, max_group: usize) -> CommitDelay {
    let mut delay = CommitDelay::new(max_group);
    delay.note_commit(writers, NO_TIME);
    let ended = Instant::now() + Duration::from_mins(1);
    (delay.history.ended, delay.history.turn_began) = (ended, ended);
    delay
}

#[test]
fn the_delay_ends_as_soon_as_enough_writes_are_queued() {
    let began = Instant::now();
    assert_eq!(group(&mut after_quick_commit(8, 100), 1, 5), [0, 1, 2, 3, 4, 5]);
    assert!(began.elapsed() < Duration::from_secs(30));
}

#[test]
fn what_has_come_is_taken_up_to_the_size_of_a_group() {
    assert_eq!(group(&mut after_quick_commit(1, 100), 5, 0), [0, 1, 2, 3, 4]);
    assert_eq!(group(&mut after_quick_commit(8, 3), 5, 0), [0, 1, 2]);
}

#[test]
fn the_delay_ends_although_the_others_stay_away() {
    let mut delay = CommitDelay::new(100);
    delay.note_commit(8, NO_TIME);
    let ended = delay.history.ended;
    assert_eq!(group(&mut delay, 2, 0), [0, 1]);
    assert!(ended.elapsed() >= MAX_DELAY);
}

#[test]
fn the_time_of_each_commit_counts_for_the_next_wait() {
    let mut delay = CommitDelay::new(100);
    for (commit_time, enough) in [(SLOW_COMMIT, 0), (NO_TIME, 6), (SLOW_COMMIT, 0)] {
        delay.note_commit(8, commit_time);
        assert_eq!(delay.history.delay(delay.history.ended).enough, enough);
    }
}

#[test]
fn the_writer_leaves_the_lock_free_though_writes_are_queued() {
    let mut delay = CommitDelay::new(100);
    delay.note_commit(8, NO_TIME);
    delay.history.turn_began = delay.history.ended.checked_sub(TURN).unwrap();
    let ended = delay.history.ended;
    assert_eq!(group(&mut delay, 5, 0), [0, 1, 2, 3, 4]);
    assert!(ended.elapsed() >= FREE);
}
