//! Connections: HTTP/1.1, HTTP/2, TLS, Unix sockets, timeouts, limits, and the drain during a stop.

mod drain;
mod http1;
mod mutated;
mod open_files;
mod timeouts;
mod tls;
mod unix_socket;
