//! Tests of schedules: shuttle decides which thread runs next at each use of a lock, an atomic or a task. The
//! schedules are random, and the same in every run.

use std::env;

use shuttle::{Config, Runner, scheduler::RandomScheduler};

const SEED: u64 = 1;

/// Runs `test` under many schedules; `PETSTORE_TEST_SCHEDULES` says how many, instead of `count`. One that
/// fails is printed, and `shuttle::replay` repeats it.
pub(crate) fn explore(count: usize, test: impl Fn() + Send + Sync + 'static) {
    let wanted = env::var("PETSTORE_TEST_SCHEDULES").ok();
    let count = wanted.map_or(count, |wanted| wanted.parse().unwrap());
    let mut config = Config::new();
    config.stack_size = 1 << 20;
    Runner::new(RandomScheduler::new_from_seed(SEED, count), config).run(test);
}
