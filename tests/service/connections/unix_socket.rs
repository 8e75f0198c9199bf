//! Unix sockets, and several listeners at once.

use std::{
    fs,
    io::{Read as _, Write as _},
    os::unix::{
        fs::{FileTypeExt as _, PermissionsExt as _},
        net::{UnixDatagram, UnixStream},
    },
    path::{Path, PathBuf},
};

use tempfile::TempDir;

use crate::support::{
    KEY,
    command::{self, petstore},
    server::{Launch, Server},
    store::Store,
    wait,
};

const LIVE: &str = "GET /livez HTTP/1.1\r\nhost: petstore\r\nconnection: close\r\n\r\n";
const OK: &str = "HTTP/1.1 200 OK";

fn launch(store: &Store, path: &Path) -> Launch {
    Launch::on(store).flag("--listen", &format!("unix:{}", path.display()))
}

/// Starts a server on a TCP socket and on a Unix socket. Returns the path and the folder of the Unix socket too.
fn both() -> (Server, PathBuf, TempDir) {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("http.sock");
    (launch(&Store::memory(), &path).start(), path, folder)
}

fn connect(path: &Path) -> UnixStream {
    let stream = UnixStream::connect(path).unwrap();
    stream.set_read_timeout(Some(wait::LIMIT)).unwrap();
    stream
}

/// Returns the answer to a request that closes its connection.
fn ask(path: &Path, request: &str) -> String {
    let mut stream = connect(path);
    stream.write_all(request.as_bytes()).unwrap();
    let mut answer = String::new();
    stream.read_to_string(&mut answer).unwrap();
    answer
}

/// Lists animals with this API key. Returns the status of the answer.
fn status(path: &Path, key: &str) -> u16 {
    let head = format!("authorization: Bearer {key}\r\nconnection: close\r\n\r\n");
    let answer = ask(path, &format!("GET /v1/pets HTTP/1.1\r\nhost: a\r\n{head}"));
    answer.split(' ').nth(1).unwrap().parse().unwrap()
}

#[test]
fn tcp_and_a_unix_socket_are_served_beside_each_other() {
    let (mut server, path, folder) = both();
    let socket = format!("unix:{}", path.display());
    wait::until("both are announced", || server.out().contains(&socket));
    let tcp = format!("petstore listens on http://{}", server.address);
    assert_eq!(server.out(), format!("{tcp}\npetstore listens on {socket}\n"));
    for _ in 0..3 {
        assert!(ask(&path, LIVE).starts_with(OK));
        server.client().get("/livez").send().is(200);
    }
    assert_eq!((status(&path, KEY), status(&path, "unknown-key-0123")), (200, 401));
    wait::until("the refusal is logged", || server.log().contains("\"peer\":\"unix\""));
    assert_eq!(fs::metadata(&path).unwrap().permissions().mode() & 0o777, 0o660);
    petstore(&["healthcheck", "--listen", &socket]).finish().succeeds();
    let log = server.log();
    assert!(log.contains(&socket) && log.contains(&server.address.to_string()), "{log}");

    // Requests on open connections are answered. No new connection is accepted.
    let mut open = connect(&path);
    open.write_all(b"GET /livez HTTP/1.1\r\n").unwrap();
    let mut heard = connect(&path);
    heard.write_all(LIVE.as_bytes()).unwrap();
    server.signal("TERM");
    wait::until("the file is removed", || !path.exists());
    open.write_all(b"host: a\r\n\r\n").unwrap();
    for mut client in [open, heard] {
        let mut answer = String::new();
        client.read_to_string(&mut answer).unwrap();
        assert!(answer.starts_with(OK), "{answer}");
    }
    assert_eq!(server.exit(), Some(0));
    assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 0, "files are left");
    petstore(&["healthcheck", "--listen", &socket]).finish().fails(1, &socket);
}

#[test]
fn a_signal_ends_the_wait_for_a_foreign_lock() {
    let folder = tempfile::tempdir().unwrap();
    let lock = fs::File::open(folder.path()).unwrap();
    lock.lock().unwrap();
    let listen = format!("unix:{}", folder.path().join("http.sock").display());
    let mut service = petstore(&["serve", "--store", "memory:", "--listen", &listen]).spawn();
    let files = format!("/proc/{}/fd", service.id());
    let waits = || {
        let files = fs::read_dir(&files).into_iter().flatten().flatten();
        files.into_iter().any(|file| fs::read_link(file.path()).is_ok_and(|it| it == folder.path()))
    };
    wait::until("the service waits for the lock", waits);
    command::signal(&service, "TERM");
    assert_eq!(command::exit(&mut service), Some(0));
}

#[test]
fn only_the_socket_file_of_a_dead_process_is_replaced() {
    let (mut server, path, folder) = both();
    // A socket with a listener.
    let second = launch(&Store::memory(), &path).finish();
    assert_eq!((second.code, second.stdout.as_str()), (Some(1), ""));
    assert!(second.stderr.contains("a process listens there; stop it"), "{second:?}");
    assert!(ask(&path, LIVE).starts_with(OK));
    server.kill();
    assert!(fs::metadata(&path).unwrap().file_type().is_socket());

    let store = Store::memory();
    let server = launch(&store, &path).start();
    assert!(ask(&path, LIVE).starts_with(OK));
    // The server does not remove a file that another program has put there meanwhile.
    fs::remove_file(&path).unwrap();
    fs::write(&path, "mine").unwrap();
    server.stop();
    assert_eq!(fs::read_to_string(&path).unwrap(), "mine");
    let refused = launch(&store, &path).finish();
    assert_eq!(refused.code, Some(1), "{refused:?}");
    assert!(refused.stderr.contains("the path is a file that is no socket"));
    assert_eq!(fs::read_to_string(&path).unwrap(), "mine");
    // A connection to a socket of another type fails, although a process holds the socket.
    fs::remove_file(&path).unwrap();
    let _other = UnixDatagram::bind(&path).unwrap();
    launch(&store, &path).finish().fails(1, "a process listens there; stop it");
    launch(&store, &folder.path().join("no/http.sock")).finish().fails(1, "no/http.sock: ");
}
