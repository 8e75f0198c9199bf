//! A running server: the real binary, on a port of its own.

use std::{
    io::{BufRead, BufReader, Read},
    net::{SocketAddr, TcpStream},
    sync::{Arc, Mutex},
    thread::{self, JoinHandle},
};

use petstore_testing::{End as _, Network};
use serde_json::Value;

use super::{
    client::Client,
    command::{self, Run, Running, petstore},
    raw::Raw,
    store::{Kind, Store},
    wait,
};

/// The suite's API key. A server accepts it besides the keys of its store, unless [`Launch::without_key`] built it.
pub(crate) const KEY: &str = "black-box-suite-0123456789";

/// The command line of a server.
pub(crate) type Launch = Run;

impl Run {
    /// Builds `petstore serve` on `store`, with the suite's API key.
    pub(crate) fn on(store: &Store) -> Self {
        Self::without_key(store).env("PETSTORE_API_KEY", KEY)
    }

    /// Builds `petstore serve` on `store`, without the suite's API key.
    pub(crate) fn without_key(store: &Store) -> Self {
        Self::listening("127.0.0.1", store)
    }

    /// Builds `petstore serve` on `store` inside the network namespace of a server of `network`, with the suite's
    /// API key.
    pub(crate) fn inside(network: &Network, server: usize, store: &Store) -> Self {
        let launch = Self::listening(&network.address(server), store).env("PETSTORE_API_KEY", KEY);
        launch.behind(network.inside(server))
    }

    fn listening(host: &str, store: &Store) -> Self {
        let address = format!("{host}:0");
        petstore(&["serve", "--listen", &address, "--store", &store.url])
    }

    /// Starts the server and waits until it listens.
    #[track_caller]
    pub(crate) fn start(self) -> Server {
        let mut child = self.spawn();
        let log = follow(child.stderr.take().unwrap());
        let out = follow(child.stdout.take().unwrap());
        let mut server = Server { child, address: ([0, 0, 0, 0], 0).into(), out, log };
        wait::until("the server listens", || {
            let ended = server.child.try_wait().unwrap();
            assert!(ended.is_none(), "{ended:?}: {} {}", server.out(), server.log());
            let out = server.out();
            let mut origins =
                out.lines().filter_map(|line| line.strip_prefix("petstore listens on "));
            let address =
                origins.find_map(|origin| origin.split_once("://")).map(|(_, address)| address);
            server.address = address.map_or(server.address, |address| address.parse().unwrap());
            address.is_some()
        });
        server
    }
}

/// The output of a pipe, line by line.
#[derive(Default)]
pub(crate) struct Text {
    so_far: Arc<Mutex<String>>,
    reader: Option<JoinHandle<()>>,
}

/// Reads a pipe to its end, in a thread of its own.
pub(crate) fn follow(pipe: impl Read + Send + 'static) -> Text {
    let so_far = Arc::<Mutex<String>>::default();
    let written = Arc::clone(&so_far);
    let reader = thread::spawn(move || {
        for line in BufReader::new(pipe).lines() {
            let mut text = written.lock().unwrap();
            text.push_str(&line.unwrap());
            text.push('\n');
        }
    });
    Text { so_far, reader: Some(reader) }
}

impl Text {
    /// Returns the text until now.
    pub(crate) fn so_far(&self) -> String {
        self.so_far.lock().unwrap().clone()
    }
}

/// A server that runs until it is dropped.
pub(crate) struct Server {
    child: Running,
    pub(crate) address: SocketAddr,
    out: Text,
    log: Text,
}

impl Server {
    /// Starts a server on a new store of this kind, without flags.
    #[track_caller]
    pub(crate) fn start(kind: Kind) -> (Store, Self) {
        let store = Store::new(kind);
        let server = Launch::on(&store).start();
        (store, server)
    }

    /// Starts a server in memory, for a test that does not depend on the store.
    #[track_caller]
    pub(crate) fn in_memory() -> Self {
        Self::start(Kind::Memory).1
    }

    /// Starts a server on a SQLite file, for a test that stops the server or reads the file.
    #[track_caller]
    pub(crate) fn on_file() -> (Store, Self) {
        Self::start(Kind::Sqlite)
    }

    pub(crate) fn client(&self) -> Client {
        Client::http1(self.url())
    }

    pub(crate) fn http2(&self) -> Client {
        Client::http2(self.url())
    }

    pub(crate) fn raw(&self) -> Raw {
        Raw::to(self.address)
    }

    pub(crate) fn url(&self) -> String {
        format!("http://{}", self.address)
    }

    /// Returns the server's standard output until now.
    pub(crate) fn out(&self) -> String {
        self.out.so_far()
    }

    /// Returns the server's standard error until now.
    pub(crate) fn log(&self) -> String {
        self.log.so_far()
    }

    /// Waits for the log line of the request with this identifier.
    #[track_caller]
    pub(crate) fn log_line(&self, request_id: &str) -> Value {
        let mut found = None;
        wait::until("the request is logged", || {
            let log = self.log();
            let line = log.lines().find(|line| line.contains(request_id));
            found = line.map(|line| serde_json::from_str(line).unwrap());
            found.is_some()
        });
        found.unwrap()
    }

    pub(crate) fn pid(&self) -> u32 {
        self.child.id()
    }

    /// Sends a signal, such as `TERM`.
    pub(crate) fn signal(&self, name: &str) {
        command::signal(&self.child, name);
    }

    /// Waits until the server ends by itself. Returns its exit code.
    #[track_caller]
    pub(crate) fn exit(&mut self) -> Option<i32> {
        command::exit(&mut self.child)
    }

    /// Stops the server by SIGTERM. Returns its whole log.
    #[track_caller]
    pub(crate) fn stop(mut self) -> String {
        self.signal("TERM");
        assert_eq!(self.exit(), Some(0), "{}", self.log());
        self.whole_log()
    }

    /// Returns the whole log of a server that has ended.
    pub(crate) fn whole_log(mut self) -> String {
        if let Some(reader) = self.log.reader.take() {
            reader.join().unwrap();
        }
        self.log()
    }

    /// Kills the server by SIGKILL.
    pub(crate) fn kill(&mut self) {
        self.child.kill().unwrap();
        self.child.wait().unwrap();
    }

    /// Returns whether the server accepts connections.
    pub(crate) fn takes_connections(&self) -> bool {
        TcpStream::connect(self.address).is_ok()
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        let ended = self.child.try_wait();
        self.child.end();
        let log = self.log();
        if thread::panicking() {
            eprintln!("the server of the failed test, ended: {ended:?}, logged:\n{log}");
        } else {
            assert!(!log.contains("panicked"), "the server panicked: {log}");
        }
    }
}
