//! What the kernel tells of a process, see proc(5).

use std::{fs, time::Duration};

use crate::failure::{Context as _, Failure, Outcome};

/// Ticks of `/proc/PID/stat` in a second: `USER_HZ`, which Linux fixes at 100 for programs.
const TICKS: u32 = 100;

/// Memory of a process, in KiB.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Memory {
    /// What is in memory now (`VmRSS`).
    pub(crate) resident: u64,
    /// The most that ever was (`VmHWM`).
    pub(crate) peak: u64,
}

/// Processor time of a process so far, its own and the kernel's for it.
pub(crate) fn cpu(process: u32) -> Outcome<Duration> {
    ticks(&stat(&process.to_string())?, 11)
}

/// Processor time of those children of this process that have ended and were waited for.
pub(crate) fn cpu_of_ended_children() -> Outcome<Duration> {
    ticks(&stat("self")?, 13)
}

fn stat(process: &str) -> Outcome<String> {
    let path = format!("/proc/{process}/stat");
    fs::read_to_string(&path).cannot(format_args!("read {path}"))
}

/// The sum of two fields, counted from the first one after the program's name, which may hold
/// anything but ends with the last parenthesis.
fn ticks(stat: &str, first: usize) -> Outcome<Duration> {
    let sum = || {
        let (_, fields) = stat.rsplit_once(')')?;
        let mut fields = fields.split_whitespace().skip(first);
        let two = [fields.next()?, fields.next()?].map(str::parse::<u32>);
        two.into_iter().sum::<Result<u32, _>>().ok()
    };
    let ticks = sum().ok_or_else(|| Failure::new(format!("cannot read the times in '{stat}'")))?;
    Ok(Duration::from_secs(1) * ticks / TICKS)
}

/// Memory of a process.
pub(crate) fn memory(process: u32) -> Outcome<Memory> {
    let path = format!("/proc/{process}/status");
    let status = fs::read_to_string(&path).cannot(format_args!("read {path}"))?;
    Ok(Memory { resident: kib(&status, "VmRSS:"), peak: kib(&status, "VmHWM:") })
}

fn kib(status: &str, name: &str) -> u64 {
    let line = status.lines().find_map(|line| line.strip_prefix(name));
    line.and_then(|line| line.trim().trim_end_matches("kB").trim().parse().ok()).unwrap_or(0)
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::{kib, memory, ticks};

    #[test]
    fn the_name_of_a_program_does_not_move_its_times() {
        let stat = "7 (a) b (c) S 1 7 7 0 -1 0 1 2 3 4 150 50 7 8 20 0";
        assert_eq!(ticks(stat, 11).unwrap(), Duration::from_secs(2));
        assert_eq!(ticks(stat, 13).unwrap(), Duration::from_millis(150));
        assert!(ticks("7 (a) S 1", 11).is_err());
    }

    #[test]
    fn memory_is_read_in_kib() {
        assert_eq!(kib("VmHWM:\t    5 kB\nVmRSS:\t  1234 kB\n", "VmRSS:"), 1234);
        assert!(memory(std::process::id()).unwrap().peak > 100);
    }
}
