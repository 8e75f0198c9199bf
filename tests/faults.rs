//! Faults, attacks and stops: what the disk, clients and operators do to a service that runs.

mod damaged_file;
mod floods;
mod framing;
mod memory;
mod proxies;
mod sick_disk;
mod slow_clients;
mod stopping;
mod tricks;
mod waiting_answers;
