//! The service under a service manager: `sd_notify`, inherited sockets, `healthcheck`, and the nightly backup.

use std::{
    fs::{self, Permissions},
    io::{Read as _, Write as _},
    net::{TcpListener, TcpStream},
    os::{
        fd::OwnedFd,
        unix::{
            fs::PermissionsExt as _,
            net::{UnixDatagram, UnixListener, UnixStream},
        },
    },
    process::{Command, Stdio},
    time::{Duration, SystemTime},
};

use petstore_testing::free_port;
use rusqlite::Connection;

use crate::support::{
    KEY,
    catalogue::pet,
    client::Client,
    command::{self, complete, petstore, spawn},
    raw::{Raw, head, post},
    server::{Launch, Server},
    store::{Kind, Store},
    wait,
};

/// The notification socket of a service manager.
struct Manager {
    socket: UnixDatagram,
    folder: tempfile::TempDir,
}

impl Manager {
    fn new() -> Self {
        let folder = tempfile::tempdir().unwrap();
        let socket = UnixDatagram::bind(folder.path().join("notify")).unwrap();
        socket.set_read_timeout(Some(wait::LIMIT)).unwrap();
        Self { socket, folder }
    }

    fn launch(&self, store: &Store) -> Launch {
        let path = self.folder.path().join("notify");
        Launch::on(store).env("NOTIFY_SOCKET", path.to_str().unwrap())
    }

    fn hears(&self) -> String {
        let mut message = [0; 1024];
        let length = self.socket.recv(&mut message).unwrap();
        String::from_utf8(message[..length].to_vec()).unwrap().trim().to_owned()
    }
}

#[test]
fn the_service_manager_is_notified_while_the_service_waits_for_its_store() {
    let nobody = format!("postgres://me:hush@127.0.0.1:{}/zoo", free_port().unwrap());
    let (manager, store) = (Manager::new(), Store::at(&nobody));
    let server = manager.launch(&store).env("WATCHDOG_USEC", "240000000").start();
    let status = manager.hears();
    assert!(status.starts_with("STATUS=Waiting for the store: cannot open the store"), "{status}");
    assert!(status.contains("Connection refused") && !status.contains("hush"), "{status}");
    assert_eq!(manager.hears(), "READY=1");
    wait::until("the watchdog is pinged", || manager.hears() == "WATCHDOG=1");
    assert!(manager.hears().starts_with("STATUS=Waiting"), "the status is set at each attempt");
    assert_eq!(server.client().get("/livez").anonymous().send().status, 200);
    server.client().get("/readyz").anonymous().send().is(503);
    let log = server.stop();
    assert_eq!(log.matches("the store cannot be reached").count(), 1, "{log}");
}

#[test]
fn the_service_manager_is_notified_when_a_waiting_service_serves_and_stops() {
    let (store, server) = Server::on_file();
    server.stop();
    let lock = Connection::open(store.file()).unwrap();
    lock.execute_batch("PRAGMA locking_mode = EXCLUSIVE; BEGIN IMMEDIATE").unwrap();
    let manager = Manager::new();
    let server = manager
        .launch(&store)
        .flags(&[("--shutdown-grace", "10m"), ("--header-timeout", "10m")])
        .start();
    let status = manager.hears();
    assert!(status.starts_with("STATUS=Waiting for the store"), "{status}");
    assert_eq!(manager.hears(), "READY=1");
    drop(lock);
    wait::until("the status is Serving", || manager.hears() == "STATUS=Serving");
    server.client().get("/v1/pets").send().is(200);
    let mut open = server.raw();
    open.send("GET /livez HTTP/1.1\r\n");
    server.signal("TERM");
    assert_eq!(manager.hears(), "STOPPING=1");
}

/// Returns a command that inherits one or two sockets, in the way in which systemd passes them.
fn taking_over(socket: impl Into<OwnedFd>, other: Option<OwnedFd>) -> Command {
    let (count, other) = (1 + u8::from(other.is_some()), other.map_or(Stdio::null(), Stdio::from));
    let script = format!(
        "LISTEN_PID=$$ LISTEN_FDS={count} exec \"$0\" \"$@\" 3<&0 4<&1 </dev/null >/dev/full"
    );
    let mut command = Command::new("/bin/sh");
    command
        .args(["-c", &script, env!("CARGO_BIN_EXE_petstore")])
        .args(["serve", "--store", "memory:", "--listen", "192.0.2.1:1"])
        .env("PETSTORE_API_KEY", KEY)
        .stdin(Stdio::from(socket.into()))
        .stdout(other)
        .stderr(Stdio::null());
    command
}

#[test]
fn a_restart_on_the_sockets_of_the_service_manager_refuses_nobody() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("http.sock");
    let (tcp, unix) =
        (TcpListener::bind("127.0.0.1:0").unwrap(), UnixListener::bind(&path).unwrap());
    for _ in 0..2 {
        // Both connections wait in the queues of the sockets until the service starts.
        let mut early = Raw::to(tcp.local_addr().unwrap());
        early.send(post(&pet("early").to_string()));
        let mut other = UnixStream::connect(&path).unwrap();
        other.set_read_timeout(Some(wait::LIMIT)).unwrap();
        other.write_all(head("GET", "/livez", "connection: close\r\n").as_bytes()).unwrap();
        let other_socket = Some(OwnedFd::from(unix.try_clone().unwrap()));
        let mut service = spawn(&mut taking_over(tcp.try_clone().unwrap(), other_socket));
        early.answer("POST", "/v1/pets").is(201);
        let mut answer = String::new();
        other.read_to_string(&mut answer).unwrap();
        assert!(answer.starts_with("HTTP/1.1 200 OK"), "{answer}");
        command::signal(&service, "TERM");
        assert_eq!(command::exit(&mut service), Some(0));
        assert!(path.exists(), "the service removed the socket file of the service manager");
    }
}

#[test]
fn a_slow_start_is_alive_and_asks_for_more_time() {
    let (manager, store) = (Manager::new(), Store::new(Kind::Memory));
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let client = Client::http1(format!("http://{}", listener.local_addr().unwrap()));
    // The service prepares the store until it has read the whole seed file.
    let seed = store.folder().join("pets.ndjson");
    complete(Command::new("mkfifo").arg(&seed)).succeeds();
    let mut command = taking_over(listener, None);
    command.arg("--seed").arg(&seed).env("NOTIFY_SOCKET", manager.folder.path().join("notify"));
    let mut service = spawn(&mut command);
    let mut animals = fs::OpenOptions::new().write(true).open(&seed).unwrap();

    client.get("/livez").anonymous().send().is(200);
    assert_eq!(client.get("/readyz").anonymous().send().is(503).must("retry-after"), "1");
    assert_eq!(client.add(&pet("late")).send().is(503).must("retry-after"), "1");
    animals.write_all(b"\n").unwrap();
    assert_eq!(manager.hears(), "EXTEND_TIMEOUT_USEC=30000000");
    client.get("/v1/pets").send().is(503);
    animals.write_all(b"{\"name\":\"Rex\",\"categoryId\":1}\n").unwrap();
    drop(animals);
    wait::until("the manager hears that it is ready", || manager.hears() == "READY=1");
    client.add(&pet("late")).send().is(201);
    assert_eq!(client.get("/v1/pets").send().is(200).json().as_array().unwrap().len(), 2);
    command::signal(&service, "TERM");
    assert_eq!(command::exit(&mut service), Some(0));
}

/// No process writes to the pipe that is the seed file, so the service cannot open it.
#[test]
fn a_stop_ends_a_slow_start() {
    let (store, listener) = (Store::new(Kind::Memory), TcpListener::bind("127.0.0.1:0").unwrap());
    let client = Client::http1(format!("http://{}", listener.local_addr().unwrap()));
    let seed = store.folder().join("pets.ndjson");
    complete(Command::new("mkfifo").arg(&seed)).succeeds();
    let mut service = spawn(taking_over(listener, None).arg("--seed").arg(&seed));
    client.get("/livez").anonymous().send().is(200);
    command::signal(&service, "TERM");
    assert_eq!(command::exit(&mut service), Some(0));
}

#[test]
fn a_connected_socket_instead_of_a_listening_one_is_refused() {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let tcp = TcpStream::connect(listener.local_addr().unwrap()).unwrap();
    let (unix, _other) = UnixStream::pair().unwrap();
    for connection in [OwnedFd::from(tcp), OwnedFd::from(unix)] {
        let mut command = taking_over(connection, None);
        let refused = command::ended(spawn(command.stdout(Stdio::piped()).stderr(Stdio::piped())));
        let says = refused.stderr.contains("it is a connection, not a socket");
        assert!(refused.code == Some(1) && says, "{refused:?}");
    }
}

#[test]
fn inherited_sockets_of_other_processes_are_ignored() {
    for pid in ["1", ""] {
        let store = Store::new(Kind::Memory);
        let launch = Launch::on(&store).env("LISTEN_FDS", "1").env("LISTEN_PID", pid);
        launch.start().client().get("/v1/pets").send().is(200);
    }
}

#[test]
fn healthcheck_reports_readiness_by_its_exit_code() {
    let server = Server::in_memory();
    let address = server.address.to_string();
    let check = |address: &str| petstore(&["healthcheck", "--listen", address]).finish();
    assert_eq!(check(&address).succeeds(), "");
    let mut open = server.raw();
    open.send("GET /livez HTTP/1.1\r\n");
    server.signal("TERM");
    wait::until("the service drains", || check(&address).code == Some(1));
    drop((open, server));
    check(&address).fails(1, &format!("the service at {address} is not ready"));
    let silent = TcpListener::bind("127.0.0.1:0").unwrap();
    let several = format!("{},127.0.0.1:1", silent.local_addr().unwrap());
    let late = petstore(&["healthcheck", "--listen", &several, "--timeout", "100ms"]).finish();
    late.fails(1, "is not ready: there was no answer within 100ms");
}

#[test]
fn the_nightly_backup_is_named_by_its_time_and_old_ones_are_deleted() {
    let unit =
        concat!(env!("CARGO_MANIFEST_DIR"), "/../../docs/deploy/systemd/petstore-backup.service");
    let unit = fs::read_to_string(unit).unwrap();
    let (folder, metrics) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
    let line = |setting: &str| {
        let line = unit.lines().find_map(|line| line.strip_prefix(setting)).unwrap();
        let line = line.replace("/var/lib/petstore-backups", folder.path().to_str().unwrap());
        let line = line.replace("/usr/bin/petstore", env!("CARGO_BIN_EXE_petstore"));
        let line = line.replace("/var/cache/petstore-metrics", metrics.path().to_str().unwrap());
        line.replace("%%", "%")
    };
    let store = Store::sqlite();
    store.new_key("web");
    for (name, age) in [("petstore-old.db", 15), ("petstore-young.db", 13), ("mine.db", 15)] {
        let file = fs::File::create(folder.path().join(name)).unwrap();
        let age = Duration::from_hours(24 * age + 1);
        let modified = file.metadata().unwrap().modified().unwrap().checked_sub(age).unwrap();
        file.set_modified(modified).unwrap();
    }
    let prom = metrics.path().join("petstore_backup.prom");
    fs::write(&prom, "").unwrap();
    fs::set_permissions(&prom, Permissions::from_mode(0o600)).unwrap();
    let backup = line("ExecStart=/bin/sh -c ");
    let script = backup.trim_matches('\'');
    let mut shell = Command::new("/bin/sh");
    complete(shell.args(["-c", script]).env("PETSTORE_STORE", &store.url)).succeeds();
    assert_eq!(fs::metadata(&prom).unwrap().permissions().mode() & 0o777, 0o644);
    let written = fs::read_to_string(prom).unwrap();
    let metric = "petstore_backup_last_success_timestamp_seconds ";
    let value = written.lines().find_map(|line| line.strip_prefix(metric)).unwrap();
    let age = SystemTime::UNIX_EPOCH.elapsed().unwrap().as_secs() - value.parse::<u64>().unwrap();
    assert!(age < 600, "{written}");
    let days = line("Environment=KEEP_DAYS=");
    let find = line("ExecStartPost=").replace("${KEEP_DAYS}", &days);
    let words: Vec<_> = find.split(' ').collect();
    complete(Command::new(words[0]).args(&words[1..])).succeeds();
    let mut names: Vec<_> = fs::read_dir(folder.path())
        .unwrap()
        .map(|entry| entry.unwrap().file_name().into_string().unwrap())
        .collect();
    names.sort();
    assert_eq!(names.len(), 3, "{names:?}");
    assert_eq!((names[0].as_str(), names[2].as_str()), ("mine.db", "petstore-young.db"));
    assert!(names[1].starts_with("petstore-20") && names[1].ends_with("Z.db"), "{names:?}");
}
