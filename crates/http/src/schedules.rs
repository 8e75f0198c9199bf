//! Tests of thread schedules: shuttle chooses the thread that runs next, at each use of shuttle's own locks, atomics
//! and tasks. The choices are random, but the same in every run.

use std::env;

use shuttle::{Config, Runner, scheduler::RandomScheduler};

const SEED: u64 = 1;

/// Runs `test` under `count` schedules, or as many as `PETSTORE_TEST_SCHEDULES` says. shuttle prints a schedule that
/// fails, and `shuttle::replay` repeats it.
pub(crate) fn explore(count: usize, test: impl Fn() + Send + Sync + 'static) {
    let wanted = env::var("PETSTORE_TEST_SCHEDULES").ok();
    let count = wanted.map_or(count, |wanted| wanted.parse().unwrap());
    let mut config = Config::new();
    config.stack_size = 1 << 20;
    Runner::new(RandomScheduler::new_from_seed(SEED, count), config).run(test);
}
