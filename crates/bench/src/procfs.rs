//! Processor time of a process, see proc(5).

use std::fs;

use anyhow::{Context as _, Result};

/// Ticks of `/proc/PID/stat` in a second: `USER_HZ`, which Linux fixes at 100 for programs.
const TICKS_PER_SECOND: f64 = 100.0;

/// Processor time of a process so far, its own and the kernel's for it, in seconds.
pub(crate) fn cpu(process: u32) -> Result<f64> {
    let path = format!("/proc/{process}/stat");
    let stat = fs::read_to_string(&path).with_context(|| format!("cannot read {path}"))?;
    seconds(&stat).with_context(|| format!("cannot read the times in '{stat}'"))
}

/// The sum of `utime` and `stime`, the fields 14 and 15. The second field is the program's name,
/// which may hold anything but ends with the last parenthesis.
fn seconds(stat: &str) -> Option<f64> {
    let (_, fields) = stat.rsplit_once(')')?;
    let mut fields = fields.split_whitespace().skip(11).map(str::parse::<f64>);
    Some((fields.next()?.ok()? + fields.next()?.ok()?) / TICKS_PER_SECOND)
}

#[cfg(test)]
mod tests {
    use super::seconds;

    #[test]
    fn the_name_of_a_program_does_not_move_its_times() {
        let stat = "7 (a) b (c) S 1 7 7 0 -1 0 1 2 3 4 150 50 7 8 20 0";
        assert_eq!(seconds(stat), Some(2.0));
        assert_eq!(seconds("7 (a) S 1"), None);
    }
}
