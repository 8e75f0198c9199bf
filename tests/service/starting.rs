//! Settings, start, signals, exit codes, manual pages, service manager, and simulation.

mod exit_codes;
mod manual;
mod reload;
mod settings;
mod simulated;
mod systemd;
