//! The service and its store: outages, changes and constraints by SQL, several instances, durability, rights.

mod changed_by_sql;
mod hung_disk;
mod instances;
mod lost_file;
mod rights;
mod syncs;
