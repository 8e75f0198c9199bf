//! Crashes: whatever ends the process or the machine, what was acknowledged is there, once.
//!
//! Beside each test runs the same with a store that does not wait for the disk, which must lose
//! something: a test that cannot fail would show nothing.
//!
//! This is the short form. `PETSTORE_TEST_CRASHES=long` makes it 200 kills, 100 power cuts and 2,000
//! cut points. `docs/GUARANTEES.md` has the figures.

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

/// The number of crashes, stops or clients in this form of the tests.
pub(crate) fn crashes(short: usize, long: usize) -> usize {
    match env::var("PETSTORE_TEST_CRASHES").as_deref() {
        Ok("long") => long,
        Ok(other) => panic!("PETSTORE_TEST_CRASHES can be 'long', not '{other}'"),
        Err(_) => short,
    }
}

/// Adds animals. After `enough` more of them, while writers go on, `end` ends the service, and with it each writer.
fn write_until(client: &Client, journal: &Arc<Journal>, enough: usize, end: impl FnOnce()) {
    let mut load = Load::on(client, journal, Outages::End).writers(WRITERS, None);
    load.until("the additions are there", Instant::now(), enough, |entry| entry.added.is_some());
    end();
    load.stop();
}
