//! The Rust of docs/CLIENTS.md, which the environment variable `CLIENTS_RS` names.

include!(env!("CLIENTS_RS"));
