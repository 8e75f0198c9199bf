//! System calls per request, for each workload.
//!
//! `perf stat` counts them at full speed. Where perf does not work, strace counts them, and the report says so. strace
//! slows the server down, and counts waits for locks that do not occur at full speed.

use std::{
    collections::BTreeMap,
    fs,
    path::Path,
    process::{Child, Command, Stdio},
    thread,
    time::Duration,
};

use anyhow::{Context as _, Result};
use rustix::process::{Pid, Signal, kill_process};

use crate::{
    cli::Options,
    console::note,
    generator::Target,
    ratios::{Subject, seed, workloads},
    report::Report,
    round::Side,
    setup::Setup,
};

/// The events for perf: the sum of all calls, and each frequent call of the server.
const EVENTS: &str = "raw_syscalls:sys_enter,syscalls:sys_enter_accept4,syscalls:sys_enter_epoll_wait,\
    syscalls:sys_enter_fcntl,syscalls:sys_enter_fdatasync,syscalls:sys_enter_futex,syscalls:sys_enter_newfstat,\
    syscalls:sys_enter_newfstatat,syscalls:sys_enter_pread64,syscalls:sys_enter_pwrite64,syscalls:sys_enter_read,\
    syscalls:sys_enter_recvfrom,syscalls:sys_enter_sendto,syscalls:sys_enter_statx,syscalls:sys_enter_write,\
    syscalls:sys_enter_writev";
/// The report names a system call that occurs at least this often per request.
const RARE: f64 = 0.01;
/// The name of the sum of all calls.
const TOTAL: &str = "total";
/// The time to wait until a counter is attached to the server.
const ATTACHING: Duration = Duration::from_secs(1);

/// A program that counts system calls of a process until SIGINT.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Counter {
    Perf,
    Strace,
}

/// Counts the calls of the chosen workloads, except workloads with stored idempotency records: `million`.
pub(crate) fn run(setup: &Setup, options: &Options) -> Result<Report> {
    let mut probe = Counter::Perf.command(std::process::id(), &setup.folder().join("probe"));
    let perf = probe.args(["--", "true"]).stderr(Stdio::null()).status();
    let counter =
        if perf.is_ok_and(|status| status.success()) { Counter::Perf } else { Counter::Strace };
    let mut rows = Vec::new();
    for workload in workloads(options)?.into_iter().filter(|workload| workload.records == 0) {
        note(format_args!("counting system calls: {}", workload.name));
        let seed = seed(setup, options, workload)?;
        let subject = Subject::start(setup, &setup.binary, workload, &seed)?;
        let side = Side { server: &subject.server, load: &subject.load };
        let target = Target::new(&subject.server, 64, setup.effort);
        side.measure(target)?;
        let output = subject.load.folder.join("calls");
        let child = counter.start(subject.server.pid(), &output)?;
        let requests = side.measure(target)?.tally.requests;
        let mut calls = counter.finish(child, &output)?;
        let total = calls.remove(TOTAL).context("no system call was counted")?;
        let per_request = |count: u64| count as f64 / requests as f64;
        let mut named: Vec<_> =
            calls.iter().map(|(name, count)| (per_request(*count), name)).collect();
        named.retain(|(share, _)| *share >= RARE);
        named.sort_by(|one, other| other.0.total_cmp(&one.0));
        let named: Vec<_> =
            named.iter().map(|(share, name)| format!("{name} {share:.2}")).collect();
        let total = format!("{:.2}", per_request(total));
        rows.push(vec![workload.title.to_owned(), total, named.join(", ")]);
    }
    let by = match counter {
        Counter::Perf => "perf stat, at full speed",
        Counter::Strace => "strace, which slows the server down: futexes are rarer at full speed",
    };
    let note = format!("System calls of the server with 64 connections, counted by {by}.");
    let header = vec!["workload", "calls a request", "of which"];
    Ok(Report { name: "calls", header, rows, note, built: setup.built })
}

impl Counter {
    fn command(self, process: u32, output: &Path) -> Command {
        let mut command = match self {
            Self::Perf => Command::new("perf"),
            Self::Strace => Command::new("strace"),
        };
        match self {
            Self::Perf => command.args(["stat", "-x", ",", "-e", EVENTS]),
            Self::Strace => command.args(["-f", "-c", "-U", "calls,name"]),
        };
        command.arg("-p").arg(process.to_string()).arg("-o").arg(output);
        command
    }

    fn start(self, process: u32, output: &Path) -> Result<Child> {
        let mut command = self.command(process, output);
        let child = command.stdout(Stdio::null()).stderr(Stdio::null()).spawn();
        thread::sleep(ATTACHING);
        child.context("cannot start perf or strace")
    }

    fn finish(self, mut child: Child, output: &Path) -> Result<BTreeMap<String, u64>> {
        kill_process(Pid::from_child(&child), Signal::INT).context("cannot stop the counter")?;
        child.wait().context("cannot wait for the counter")?;
        let text = fs::read_to_string(output).context("the counter wrote nothing")?;
        Ok(text.lines().filter_map(|line| self.parse(line)).collect())
    }

    /// Parses a line of perf (`5,,syscalls:sys_enter_futex,…`) or of strace (`5 futex`). The sum of all calls has the
    /// name `raw_syscalls:sys_enter` in the output of perf, and `total` in the output of strace.
    fn parse(self, line: &str) -> Option<(String, u64)> {
        let (count, name) = match self {
            Self::Perf => {
                let (count, event) = line.split_once(",,")?;
                let event = event.strip_prefix("raw_syscalls:sys_enter,").map_or(event, |_| TOTAL);
                (count, event.strip_prefix("syscalls:sys_enter_").unwrap_or(event))
            }
            Self::Strace => line.trim().split_once(' ')?,
        };
        let name = name.trim().split(',').next()?;
        Some((name.to_owned(), count.parse().ok()?)).filter(|(_, count)| *count > 0)
    }
}
