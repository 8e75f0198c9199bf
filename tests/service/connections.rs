//! Connections: HTTP/1.1, TLS, Unix sockets, mutated requests, limits of the system, and the drain during a stop.

mod drain;
mod http1;
mod limits;
mod mutated;
mod tls;
mod unix_socket;
