//! Connection poolers in front of a server.

use std::{
    fs::{self, File},
    net::{Ipv4Addr, TcpStream},
    path::Path,
};

use tempfile::TempDir;

use crate::{
    binaries::{self, as_server_user, hand_over},
    ports::free_port,
    processes, programs,
    watchdog::Watchdog,
};

/// The number of server connections for each database, except with [`Pooling::Session`]. The number is small, so that
/// many clients share a connection.
const SERVER_CONNECTIONS: u32 = 4;
/// Runs the pooler until standard input is closed. If the test process is killed, the kernel closes it. The arguments
/// are the program and its settings file.
const SCRIPT: &str = "\"$0\" \"$1\" & cat >/dev/null; kill \"$!\"; wait";

/// The rule by which `PgBouncer` assigns a server connection.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Pooling {
    /// To one client until the client disconnects.
    Session,
    /// To one client until the client disconnects. There are few server connections, so other clients wait.
    FewSessions,
    /// To one client for one transaction.
    Transaction,
    /// To one client for one transaction. The pooler ignores the options in a client's startup message.
    TransactionWithoutOptions,
    /// To one client for one statement.
    Statement,
}

/// A pooler on 127.0.0.1. Dropping the value ends the pooler; it never outlives this process.
#[derive(Debug)]
pub struct Pooler {
    port: u16,
    _watchdog: Watchdog,
    /// Configuration and log.
    folder: TempDir,
}

impl Pooler {
    /// Starts a pooler in front of the server of `url`, the URL of any database there.
    ///
    /// # Errors
    /// `PgBouncer` is not installed, or does not start.
    pub fn start(pooling: Pooling, url: &str) -> Result<Self, String> {
        let server = server(url).ok_or("the URL must be postgres://USER@HOST/DATABASE")?;
        let folder = TempDir::new().map_err(|error| format!("no folder: {error}"))?;
        let (port, path) = (free_port()?, folder.path());
        hand_over(path)?;
        let watchdog = spawn(&settings(server, port, pooling), path)?;
        let pooler = Self { port, _watchdog: watchdog, folder };
        pooler.wait()?;
        Ok(pooler)
    }

    /// Returns the URL that leads through the pooler to the database of `url`.
    #[must_use]
    pub fn url(&self, url: &str) -> String {
        let address = |url: &str| Some(url.split_once('@')?.1.split_once('/')?.0.to_owned());
        address(url).map_or_else(String::new, |address| {
            url.replacen(&format!("@{address}/"), &format!("@127.0.0.1:{}/", self.port), 1)
        })
    }

    /// Runs SQL in the database of `url` through the pooler. Returns the rows as text.
    ///
    /// # Errors
    /// The error text of the server or the pooler.
    pub fn sql(&self, url: &str, sql: &str) -> Result<String, String> {
        binaries::sql(&self.url(url), sql)
    }

    fn wait(&self) -> Result<(), String> {
        let accepts = || TcpStream::connect((Ipv4Addr::LOCALHOST, self.port)).is_ok();
        processes::wait_until("the pooler accepts connections", accepts).map_err(|error| {
            error + &fs::read_to_string(self.folder.path().join("log")).unwrap_or_default()
        })
    }
}

/// Returns the host, port, user and password of a URL.
fn server(url: &str) -> Option<[&str; 4]> {
    let (credential, place) = url.split_once("://")?.1.split_once('@')?;
    let address = place.split_once('/')?.0;
    let (user, password) = credential.split_once(':').unwrap_or((credential, ""));
    let (host, port) = address.split_once(':').unwrap_or((address, "5432"));
    Some([host, port, user, password])
}

fn settings(server: [&str; 4], port: u16, pooling: Pooling) -> String {
    let [host, server_port, user, password] = server;
    let (mode, options) = match pooling {
        Pooling::Statement => ("statement", ""),
        Pooling::Session => ("session", "default_pool_size = 100\n"),
        Pooling::FewSessions => ("session", ""),
        Pooling::Transaction => ("transaction", ""),
        Pooling::TransactionWithoutOptions => {
            ("transaction", "ignore_startup_parameters = options\n")
        }
    };
    // The pooler retries an unreachable server after 0.1 seconds.
    format!(
        "[databases]\n* = host={host} port={server_port} user={user} password={password}\n\
         [pgbouncer]\nlisten_addr = 127.0.0.1\nlisten_port = {port}\nunix_socket_dir =\n\
         auth_type = any\npool_mode = {mode}\nmax_client_conn = 1000\nserver_login_retry = 0.1\n\
         default_pool_size = {SERVER_CONNECTIONS}\n{options}"
    )
}

/// Runs `PgBouncer` with this text as its settings.
fn spawn(settings: &str, folder: &Path) -> Result<Watchdog, String> {
    let program = programs::find("pgbouncer").ok_or("pgbouncer is not installed")?;
    let path = folder.join("pgbouncer.ini");
    fs::write(&path, settings)
        .map_err(|error| format!("cannot write {}: {error}", path.display()))?;
    hand_over(&path)?;
    let log = File::create(folder.join("log")).map_err(|error| error.to_string())?;
    let mut shell = as_server_user(Path::new("/bin/sh"));
    Watchdog::run(shell.args(["-c", SCRIPT]).args([&program, &path]), log.into())
}
