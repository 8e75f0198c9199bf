//! Servers that several tests share. Such a test depends only on its own animals.

use std::{process::Child, sync::OnceLock};

use super::{
    guard::guard,
    server::{Launch, Server},
    store::{Kind, Store},
};

/// Returns the shared server on a memory store, for tests of behavior that is the same on every store.
pub(crate) fn server() -> &'static Server {
    server_on(Kind::Memory)
}

/// Returns the shared server on a store of this kind.
pub(crate) fn server_on(kind: Kind) -> &'static Server {
    static SHARED: [OnceLock<Shared>; 4] = [const { OnceLock::new() }; 4];
    &SHARED[kind as usize].get_or_init(|| Shared::start(Store::new(kind))).server
}

struct Shared {
    server: Server,
    _store: Store,
    _guard: Child,
}

impl Shared {
    fn start(store: Store) -> Self {
        let server = Launch::on(&store).start();
        let guard = guard(&server.pid().to_string(), &store.folder());
        Self { server, _store: store, _guard: guard }
    }
}
