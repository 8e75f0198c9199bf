//! Metrics of the service itself, beside those of its store: the process, as
//! <https://prometheus.io/docs/instrumenting/writing_clientlibs/#process-metrics> has it, the certificate, and the files
//! that are read again.

use std::{fs, sync::Arc, time::Duration};

use petstore_http::{Sample, SampleSource};
use rustix::{
    param::{clock_ticks_per_second, page_size},
    process::{Resource, getrlimit},
};

use super::{reload::Reloads, tls::Tls};

/// Returns `figures` and those of the service.
pub(super) fn with_own(
    figures: SampleSource,
    tls: Option<Arc<Tls>>,
    reloads: Vec<Arc<Reloads>>,
) -> SampleSource {
    Arc::new(move || {
        let mut all = figures();
        all.extend(of_process());
        all.extend(tls.iter().map(|tls| {
            let help = "When the TLS certificate in force expires, in seconds since 1970.";
            Sample::gauge("petstore_tls_certificate_expiry_timestamp_seconds", help, tls.expiry())
        }));
        all.extend(reloads.iter().flat_map(|reloads| of_reloads(reloads)));
        all
    })
}

fn of_reloads(reloads: &Reloads) -> [Sample; 3] {
    let (succeeded, failed, last_failed) = reloads.counts();
    [
        Sample::counter(
            "petstore_reloads_total",
            "How often a file was read again, successfully or not.",
            succeeded + failed,
        ),
        Sample::counter(
            "petstore_reload_failures_total",
            "How often a file could not be used when it was read again.",
            failed,
        ),
        Sample::gauge(
            "petstore_last_reload_successful",
            "Whether the content of a file is in force as it was last read.",
            (!last_failed).into(),
        ),
    ]
    .map(|figure| figure.with_label("file", reloads.file))
}

/// Returns what Linux says of the process; nothing elsewhere.
fn of_process() -> Vec<Sample> {
    let read = |path| fs::read_to_string(path).ok();
    let text = read("/proc/self/stat").zip(read("/proc/stat"));
    let mut figures =
        text.and_then(|(process, system)| of_stat(&process, &system)).unwrap_or_default();
    if let Ok(open) = fs::read_dir("/proc/self/fd") {
        let limit = getrlimit(Resource::Nofile).current.unwrap_or(u64::MAX);
        // Without the one that the folder is read by.
        let open = (open.count() as u64).saturating_sub(1);
        figures.push(Sample::gauge("process_open_fds", "Open file descriptors.", open));
        figures.push(Sample::gauge("process_max_fds", "The most that may be open.", limit));
    }
    figures
}

/// Reads `/proc/self/stat`, as `proc_pid_stat(5)` has it, and from `/proc/stat` when the system was booted.
fn of_stat(process: &str, system: &str) -> Option<Vec<Sample>> {
    let booted = system.lines().find_map(|line| line.strip_prefix("btime "));
    let booted: u64 = booted?.trim().parse().ok()?;
    // Field 2 is the name of the program in parentheses, which may have any character in it.
    let (_, fields) = process.rsplit_once(')')?;
    let fields: Vec<&str> = fields.split_ascii_whitespace().collect();
    let field = |number: usize| fields.get(number - 3)?.parse::<u64>().ok();
    let page_size = page_size() as u64;
    let time = |ticks: u64| {
        Duration::from_millis(ticks.saturating_mul(1000) / clock_ticks_per_second().max(1))
    };
    let used = time(field(14)?.saturating_add(field(15)?));
    let started = time(field(22)?).saturating_add(Duration::from_secs(booted));
    let resident = field(24)?.saturating_mul(page_size);
    let seconds = |figure, time: Duration| Sample { value: time.as_secs_f64(), ..figure };
    let cpu = Sample::counter("process_cpu_seconds_total", "Processor time, all modes.", 0);
    let start = Sample::gauge("process_start_time_seconds", "When it began, since 1970.", 0);
    Some(vec![
        seconds(cpu, used),
        seconds(start, started),
        Sample::gauge("process_threads", "Threads.", field(20)?),
        Sample::gauge("process_virtual_memory_bytes", "Virtual memory.", field(23)?),
        Sample::gauge("process_resident_memory_bytes", "Resident memory.", resident),
    ])
}

#[cfg(test)]
mod tests {
    use super::{of_process, of_stat};

    /// Fields 3 to 24, of which the 14th and those from the 20th on are read; and the boot.
    const FIELDS: &str =
        "S 1 2 3 0 -1 4194560 5 6 7 8 150 50 0 0 20 0 9 0 1000 123456 10 18446744073709551615";
    const SYSTEM: &str = "cpu  1 2 3\nbtime 1795132800\nprocesses 5\n";

    #[test]
    fn the_fields_of_linux_are_read_whatever_the_program_is_called() {
        for name in ["petstore", "a) b (c", ""] {
            let figures = of_stat(&format!("7 ({name}) {FIELDS}"), SYSTEM).unwrap();
            let values: Vec<_> = figures.iter().map(|figure| (figure.name, figure.value)).collect();
            let page = rustix::param::page_size();
            assert_eq!(rustix::param::clock_ticks_per_second(), 100);
            let expected = [
                ("process_cpu_seconds_total", 2.0),
                ("process_start_time_seconds", 1_795_132_810.0),
                ("process_threads", 9.0),
                ("process_virtual_memory_bytes", 123_456.0),
                ("process_resident_memory_bytes", f64::from(u32::try_from(10 * page).unwrap())),
            ];
            assert_eq!(values, expected);
        }
        for (process, system) in
            [("", SYSTEM), ("7 (a) S 1", SYSTEM), (&format!("7 (a) {FIELDS}")[..], "cpu  1\n")]
        {
            assert_eq!(of_stat(process, system), None);
        }
    }

    #[test]
    fn this_process_has_all_figures() {
        assert_eq!(of_process().len(), 7);
    }
}
