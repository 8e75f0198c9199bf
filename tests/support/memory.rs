//! The memory of a process, as the kernel counts it (proc(5)).

use std::fs;

use super::server::Server;

/// Resets the peak that the kernel counts. Returns the current memory of the server, in KiB.
pub(crate) fn reset_peak_memory(server: &Server) -> u64 {
    fs::write(format!("/proc/{}/clear_refs", server.pid()), "5").unwrap();
    memory(server)
}

/// Returns the current memory of the server, in KiB.
pub(crate) fn memory(server: &Server) -> u64 {
    field(server, "VmRSS:")
}

/// Returns the peak of the server's memory since [`reset_peak_memory`], in KiB.
pub(crate) fn peak_memory(server: &Server) -> u64 {
    field(server, "VmHWM:")
}

fn field(server: &Server, name: &str) -> u64 {
    let status = fs::read_to_string(format!("/proc/{}/status", server.pid())).unwrap();
    let value = status.lines().find_map(|line| line.strip_prefix(name)).unwrap();
    value.trim().trim_end_matches(" kB").parse().unwrap()
}
