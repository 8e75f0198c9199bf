//! Servers that all tests share which depend on nothing but what they added themselves.

use std::{
    process::{Child, Command, Stdio},
    sync::OnceLock,
};

use super::{
    server::{Launch, Server},
    store::Store,
};

/// The shared server, on a store of the kind that this run is about.
pub(crate) fn server() -> &'static Server {
    static SHARED: OnceLock<Shared> = OnceLock::new();
    &SHARED.get_or_init(|| Shared::start(Store::fresh())).server
}

struct Shared {
    server: Server,
    _store: Store,
    /// Holds the pipe whose end the guard waits for.
    _guard: Child,
}

impl Shared {
    fn start(store: Store) -> Self {
        let server = Launch::on(&store).start();
        let guard = guard(server.pid(), &store);
        Self { server, _store: store, _guard: guard }
    }
}

/// Stops the server and removes its store when the test process is over: statics are not dropped.
fn guard(pid: u32, store: &Store) -> Child {
    Command::new("sh")
        .args(["-c", "read -r _; kill -s KILL \"$0\"; rm -rf \"$1\""])
        .arg(pid.to_string())
        .arg(store.folder())
        .stdin(Stdio::piped())
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .spawn()
        .unwrap()
}
