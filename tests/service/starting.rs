//! Settings, start, signals, service manager, and simulation.

mod manual;
mod reload;
mod settings;
mod simulated;
mod startup;
mod systemd;
