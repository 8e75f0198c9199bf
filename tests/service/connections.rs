//! Connections: TLS, Unix sockets, mutated requests, limits of the system, and the drain during a stop.

mod drain;
mod limits;
mod mutated;
mod tls;
mod unix_socket;
