//! The wake of the writer that waits, under schedules.

use std::{sync::Arc, time::Duration};

use shuttle::thread;
use tokio::sync::mpsc;

use super::CommitDelay;
use crate::sync::{let_timeouts_end, schedules::explore};

#[test]
fn the_last_write_that_is_waited_for_wakes_the_writer() {
    let_timeouts_end(false);
    explore(5000, || {
        let mut delay = CommitDelay::new(100);
        // A commit of 4, so the next one waits for 3.
        delay.note_commit(4, Duration::ZERO);
        let (sender, mut queue) = mpsc::channel(100);
        let clients = [1, 2].map(|write| {
            let (sender, notify) = (sender.clone(), Arc::clone(delay.notify()));
            thread::spawn(move || {
                sender.try_send(write).unwrap();
                notify.queued(sender.max_capacity() - sender.capacity());
            })
        });
        let mut group = vec![0];
        delay.wait(&mut group, &mut queue);
        group.sort_unstable();
        assert_eq!(group, [0, 1, 2]);
        for client in clients {
            client.join().unwrap();
        }
    });
    let_timeouts_end(true);
}
