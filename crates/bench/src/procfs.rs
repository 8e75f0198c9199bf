//! The processor time of a process, from proc(5).

use std::fs;

use anyhow::{Context as _, Result};

/// The ticks per second in `/proc/PID/stat`: `USER_HZ`, which is always 100 on Linux.
const TICKS_PER_SECOND: f64 = 100.0;

/// Returns the processor time of a process in user and system mode, in seconds.
pub(crate) fn cpu(process: u32) -> Result<f64> {
    let path = format!("/proc/{process}/stat");
    let stat = fs::read_to_string(&path).with_context(|| format!("cannot read {path}"))?;
    seconds(&stat).with_context(|| format!("cannot read the times in '{stat}'"))
}

/// Returns the sum of `utime` and `stime`, fields 14 and 15. Field 2 is the name of the program, which may contain any
/// character, and ends with the last parenthesis.
fn seconds(stat: &str) -> Option<f64> {
    let (_, fields) = stat.rsplit_once(')')?;
    let mut fields = fields.split_whitespace().skip(11).map(str::parse::<f64>);
    Some((fields.next()?.ok()? + fields.next()?.ok()?) / TICKS_PER_SECOND)
}
