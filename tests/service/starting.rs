//! Settings, start, signals, service manager, and simulation.

mod exit_codes;
mod manual;
mod reload;
mod settings;
mod simulated;
mod startup;
mod systemd;
