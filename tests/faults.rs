//! Faults, attacks and stops: what the disk, clients and operators do to a service that runs.

mod damaged_file;
mod floods;
mod load;
mod sick_disk;
mod stopping;
