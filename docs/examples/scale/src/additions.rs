//! Additions by many instances. Each has one writer, which commits in groups what has arrived. A group
//! locks the row of the version from its first statement until it is committed on the synchronous
//! standby, so one group is committed at a time, whatever instance it comes from.

use std::collections::VecDeque;

/// Additions in one transaction (`crates/postgres/src/writer/task.rs`).
const MAX_GROUP: usize = 1024;
/// What the server does for one more addition in a group, in seconds: one processor's share of the 53,000
/// a second that a server with two took (`docs/PERFORMANCE.md`).
const WORK: f64 = 1.0 / 53_000.0;
/// Simulated additions. Only the second half counts: groups must have grown to the load first.
const COUNT: usize = 400_000;

/// A load.
#[derive(Clone, Copy, Debug)]
pub struct Additions {
    /// Instances of petstore.
    pub instances: usize,
    /// How long a commit takes, in seconds: to the disk and to the standby.
    pub commit: f64,
    /// Additions a second, of all instances together.
    pub rate: f64,
}

/// What came of a load.
#[derive(Clone, Copy, Debug)]
pub struct Outcome {
    /// Half of the additions took less, in seconds.
    pub median: f64,
    /// One in a hundred took longer.
    pub p99: f64,
    /// Additions in a group, on average.
    pub group: f64,
}

impl Additions {
    /// Simulates the load.
    #[must_use]
    #[expect(clippy::cast_precision_loss, reason = "numbers of additions are small")]
    pub fn simulate(self) -> Outcome {
        let mut random = fastrand::Rng::with_seed(7);
        let mut waiting: Vec<VecDeque<f64>> = vec![VecDeque::new(); self.instances];
        let mut next_arrival = 0.0;
        let (mut now, mut arrived, mut groups) = (0.0_f64, 0, 0_usize);
        let mut turn = 0;
        let mut took = Vec::with_capacity(COUNT);
        while took.len() < COUNT {
            // What has arrived until now waits with its instance.
            while arrived < COUNT && next_arrival <= now {
                waiting[random.usize(..self.instances)].push_back(next_arrival);
                next_arrival += -(1.0 - random.f64()).ln() / self.rate;
                arrived += 1;
            }
            // The lock of the row is fair: the instances come in turn.
            let next = (0..self.instances).map(|step| (turn + step) % self.instances);
            let Some(instance) = next.into_iter().find(|one| !waiting[*one].is_empty()) else {
                now = next_arrival;
                continue;
            };
            turn = instance + 1;
            let size = waiting[instance].len().min(MAX_GROUP);
            now += self.commit + WORK * size as f64;
            took.extend(waiting[instance].drain(..size).map(|arrival| now - arrival));
            groups += 1;
        }
        let took = &mut took[COUNT / 2..];
        took.sort_by(f64::total_cmp);
        Outcome {
            median: took[took.len() / 2],
            p99: took[took.len() * 99 / 100],
            group: COUNT as f64 / groups as f64,
        }
    }

    /// Additions a second at which every group is as large as it may be: beyond it, queues grow.
    #[must_use]
    #[expect(clippy::cast_precision_loss, reason = "a group is small")]
    pub fn limit(self) -> f64 {
        MAX_GROUP as f64 / (self.commit + WORK * MAX_GROUP as f64)
    }
}
