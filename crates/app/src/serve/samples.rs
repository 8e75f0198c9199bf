//! Metrics of the certificate, of reloaded files, and of the process as in
//! <https://prometheus.io/docs/instrumenting/writing_clientlibs/#process-metrics>. Prometheus's client library would
//! add a dependency on `procfs` for the metrics of the process.

use std::{fs, sync::Arc, time::Duration};

use petstore_http::{Sample, SampleSource};
use rustix::{
    param::{clock_ticks_per_second, page_size},
    process::{Resource, getrlimit},
};

use super::{reload::Reloads, served_store::Stores, tls::Tls};

/// Returns a source of the samples of the store and of the service.
pub(super) fn source(stores: Stores, tls: Option<Arc<Tls>>, reloads: Vec<Reloads>) -> SampleSource {
    Arc::new(move || {
        let expiry = tls.iter().map(|tls| {
            let help = "Expiry of the current TLS certificate, in seconds since 1970.";
            Sample::gauge("petstore_tls_certificate_expiry_timestamp_seconds", help, tls.expiry())
        });
        let reloads = reloads.iter().flat_map(of_reloads);
        stores.samples().into_iter().chain(of_process()).chain(expiry).chain(reloads).collect()
    })
}

fn of_reloads(reloads: &Reloads) -> [Sample; 3] {
    let (all, failed, last_failed) = *reloads.counts.borrow();
    let ok = (!last_failed).into();
    [
        Sample::counter("petstore_reloads_total", "Reloads of a file, successful or not.", all),
        Sample::counter("petstore_reload_failures_total", "Reloads of a file that failed.", failed),
        Sample::gauge("petstore_last_reload_successful", "Whether the last reload succeeded.", ok),
    ]
    .map(|sample| sample.with_label("file", reloads.file))
}

/// Returns the samples of the process on Linux; none elsewhere.
fn of_process() -> Vec<Sample> {
    let read = |path| fs::read_to_string(path).ok();
    let text = read("/proc/self/stat").zip(read("/proc/stat"));
    let mut samples =
        text.and_then(|(process, system)| of_stat(&process, &system)).unwrap_or_default();
    if let Ok(open) = fs::read_dir("/proc/self/fd") {
        let limit = getrlimit(Resource::Nofile).current.unwrap_or(u64::MAX);
        // Reading the directory opens one more descriptor.
        let open = (open.count() as u64).saturating_sub(1);
        samples.push(Sample::gauge("process_open_fds", "Open file descriptors.", open));
        samples.push(Sample::gauge("process_max_fds", "Limit on open file descriptors.", limit));
    }
    samples
}

/// Parses `/proc/self/stat` (`proc_pid_stat(5)`), and the boot time in `/proc/stat`.
fn of_stat(process: &str, system: &str) -> Option<Vec<Sample>> {
    let booted = system.lines().find_map(|line| line.strip_prefix("btime "));
    let booted: u64 = booted?.trim().parse().ok()?;
    // Field 2 is the name of the program in parentheses, and may contain any character.
    let (_, fields) = process.rsplit_once(')')?;
    let fields: Vec<&str> = fields.split_ascii_whitespace().collect();
    let field = |number: usize| fields.get(number - 3)?.parse::<u64>().ok();
    let time = |ticks: u64| {
        Duration::from_millis(ticks.saturating_mul(1000) / clock_ticks_per_second().max(1))
    };
    let used = time(field(14)?.saturating_add(field(15)?));
    let started = time(field(22)?).saturating_add(Duration::from_secs(booted));
    let resident = field(24)?.saturating_mul(page_size() as u64);
    let seconds = |sample, time: Duration| Sample { value: time.as_secs_f64(), ..sample };
    let cpu =
        Sample::counter("process_cpu_seconds_total", "Processor time in user and system mode.", 0);
    let start = Sample::gauge("process_start_time_seconds", "Start, in seconds since 1970.", 0);
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
    use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};

    use super::{of_process, of_stat};

    /// Fields 3 to 24 of `/proc/self/stat`.
    const FIELDS: &str =
        "S 1 2 3 0 -1 4194560 5 6 7 8 150 50 0 0 20 0 9 0 1000 123456 10 18446744073709551615";
    const SYSTEM: &str = "cpu  1 2 3\nbtime 1795132800\nprocesses 5\n";

    #[test]
    fn fields_are_parsed_for_any_program_name() {
        for name in ["petstore", "a) b (c", ""] {
            let samples = of_stat(&format!("7 ({name}) {FIELDS}"), SYSTEM).unwrap();
            let values: Vec<_> = samples.iter().map(|sample| (sample.name, sample.value)).collect();
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
    fn this_process_has_all_samples() {
        // The soft limit may be lower than the hard limit.
        let Rlimit { current, maximum } = getrlimit(Resource::Nofile);
        let limit = current.unwrap() - 1;
        setrlimit(Resource::Nofile, Rlimit { current: Some(limit), maximum }).unwrap();
        let samples = of_process();
        assert_eq!(samples.len(), 7);
        let limit = f64::from(u32::try_from(limit).unwrap());
        assert_eq!((samples[5].value < limit, samples[6].value), (true, limit));
    }
}
