//! Crashes of the process and of the machine: every acknowledged animal is there afterwards, once.
//!
//! A control beside each test of a machine crash has a store that does not wait for the disk. It must lose an animal.
//!
//! `PETSTORE_TEST_CRASHES=long` runs the long form: `docs/GUARANTEES.md` has the numbers.

pub(crate) mod disk;
mod history;
mod image;
mod kill;
mod power;
mod torn;
mod write_log;

use std::{env, sync::Arc, time::Instant};

use crate::{
    load::{Load, Outages, WRITERS, journal::Journal},
    support::client::Client,
};

/// Returns the number of crashes, stops or clients in the chosen form of the tests.
pub(crate) fn crashes(short: usize, long: usize) -> usize {
    match env::var("PETSTORE_TEST_CRASHES").as_deref() {
        Ok("long") => long,
        Ok(other) => panic!("PETSTORE_TEST_CRASHES can be 'long', not '{other}'"),
        Err(_) => short,
    }
}

/// Adds animals with several writers. After `enough` additions, `end` ends the service, which ends the writers.
fn write_until(client: &Client, journal: &Arc<Journal>, enough: usize, end: impl FnOnce()) {
    let mut load = Load::on(client, journal, Outages::End).writers(WRITERS, None);
    load.until("enough animals are added", Instant::now(), enough, |entry| entry.added.is_some());
    end();
    load.stop();
}
