//! Faults of the disk, attacks of clients, and stops of a running service.

mod damaged_file;
mod floods;
mod framing;
mod proxies;
mod sick_disk;
mod slow_clients;
mod stopping;
mod tricks;
mod waiting_answers;
