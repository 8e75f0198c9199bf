//! A PostgreSQL server in its own folder.

use std::{
    env, fs,
    path::{Path, PathBuf},
    process::Command,
    slice,
};

use rustix::fs::{StatVfs, statvfs};

use crate::{
    binaries::{self, hand_over, program, run},
    ports::free_port,
    processes,
    watchdog::Watchdog,
};

/// The role that owns everything. The server trusts connections from this machine.
pub(crate) const ROLE: &str = "petstore";

/// A file system in memory. Each test creates a database, which has about 300 files. On a disk, the tests of PostgreSQL
/// take 1.5 times as long.
const MEMORY: &str = "/dev/shm";
/// The free space in [`MEMORY`] that a server requires, in bytes. The black-box suite needs 135 MB, and
/// `PETSTORE_TEST_MOVES=long` needs more.
const ROOM: u64 = 4 << 30;

/// The durability of a commit.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Durability {
    /// A commit does not wait for the disk: it survives killed processes, but not a power cut.
    Fast,
    /// A commit waits for the disk, as in production.
    Full,
}

/// A server on 127.0.0.1. Dropping the value ends the server; it never outlives this process.
#[derive(Debug)]
pub struct Cluster {
    home: PathBuf,
    port: u16,
    _watchdog: Watchdog,
}

impl Cluster {
    /// Creates a new server and starts it.
    ///
    /// # Errors
    /// PostgreSQL is not installed, or the server does not start.
    pub fn start(durability: Durability) -> Result<Self, String> {
        let cluster = Self::prepare(durability)?;
        run(program("initdb")?
            .args(["--auth=trust", "--encoding=UTF8", "--locale=C", "--no-sync", "-U", ROLE, "-D"])
            .arg(cluster.data()))?;
        cluster.configure(&settings(durability))?;
        cluster.resume()?;
        Ok(cluster)
    }

    /// Prepares a folder, a port and a watchdog for a server that does not run yet.
    pub(crate) fn prepare(durability: Durability) -> Result<Self, String> {
        let home = folder("petstore-postgres-", durability)?;
        hand_over(&home)?;
        Ok(Self { port: free_port()?, _watchdog: Watchdog::of(&home)?, home })
    }

    pub(crate) fn data(&self) -> PathBuf {
        self.home.join("data")
    }

    /// Returns the folder of the server, with the data in `data` and the log in `log`.
    #[must_use]
    pub fn home(&self) -> &Path {
        &self.home
    }

    /// Returns the server's port on 127.0.0.1.
    #[must_use]
    pub const fn port(&self) -> u16 {
        self.port
    }

    /// Returns the URL of a database of this server. The password is made up, because the server asks for none.
    #[must_use]
    pub fn url(&self, database: &str) -> String {
        format!("postgres://{ROLE}:secret@127.0.0.1:{}/{database}", self.port)
    }

    /// Appends lines to the server's configuration, which apply from the next start.
    ///
    /// # Errors
    /// The file cannot be written.
    pub fn configure(&self, lines: &str) -> Result<(), String> {
        let path = self.data().join("postgresql.conf");
        let old = fs::read_to_string(&path).unwrap_or_default();
        let home = self.home.display();
        let place = format!(
            "port = {}\nlisten_addresses = '127.0.0.1'\nunix_socket_directories = '{home}'\n",
            self.port
        );
        fs::write(&path, format!("{old}\n{place}{lines}\n")).map_err(|error| error.to_string())
    }

    /// Starts the server again after it was stopped or killed.
    ///
    /// # Errors
    /// The server does not start. Its log is part of the error.
    pub fn resume(&self) -> Result<(), String> {
        let log = self.home.join("log");
        let started = run(self.pg_ctl()?.arg("-l").arg(&log).arg("start"));
        started
            .map(drop)
            .map_err(|error| format!("{error}\n{}", fs::read_to_string(&log).unwrap_or_default()))
    }

    /// Stops the server like an administrator: connections are closed, and nothing is lost.
    ///
    /// # Errors
    /// The server does not stop.
    pub fn stop(&self) -> Result<(), String> {
        run(self.pg_ctl()?.args(["-m", "fast", "stop"])).map(drop)
    }

    /// Stops the server immediately: connections break, and the next start runs crash recovery.
    ///
    /// # Errors
    /// The server does not stop.
    pub fn stop_at_once(&self) -> Result<(), String> {
        run(self.pg_ctl()?.args(["-m", "immediate", "stop"])).map(drop)
    }

    /// Halts every process of the server. Connections stay open, and the server does not respond.
    ///
    /// # Errors
    /// The server does not run.
    pub fn freeze(&self) -> Result<(), String> {
        self.signal("STOP").map(drop)
    }

    /// Ends [`Self::freeze`].
    ///
    /// # Errors
    /// The server does not run.
    pub fn thaw(&self) -> Result<(), String> {
        self.signal("CONT").map(drop)
    }

    /// Kills every process of the server with signal 9.
    ///
    /// # Errors
    /// The processes cannot be killed.
    pub fn kill9(&self) -> Result<(), String> {
        let all = self.signal("KILL")?;
        let what = format!("the end of the server at port {}", self.port);
        processes::wait_until(&what, || !all.iter().any(|process| processes::runs(process)))?;
        // In a container without an init process, the killed processes stay as zombies. With the lock files, the next
        // start would take them for a running server.
        let socket_lock = self.home.join(format!(".s.PGSQL.{}.lock", self.port));
        [self.data().join("postmaster.pid"), socket_lock]
            .into_iter()
            .try_for_each(fs::remove_file)
            .map_err(|error| format!("cannot remove the lock files of the killed server: {error}"))
    }

    /// Sends a signal to every process of the server. Returns the processes.
    fn signal(&self, signal: &str) -> Result<Vec<String>, String> {
        let file = fs::read_to_string(self.data().join("postmaster.pid"));
        let file = file.map_err(|error| format!("the server does not run: {error}"))?;
        let parent = file.lines().next().unwrap_or_default().to_owned();
        // A killed parent has no children any more. Signals the parent first, because it could start more children.
        let mut all = processes::children_of(&parent);
        processes::send(signal, slice::from_ref(&parent))?;
        all.extend(processes::children_of(&parent));
        // A child may have ended already.
        let _ = processes::send(signal, &all);
        all.push(parent);
        Ok(all)
    }

    /// Runs SQL in the database `postgres`, as the role that owns everything. Returns the rows as text.
    ///
    /// # Errors
    /// The error text of the server.
    pub fn sql(&self, sql: &str) -> Result<String, String> {
        binaries::sql(&self.url("postgres"), sql)
    }

    pub(crate) fn pg_ctl(&self) -> Result<Command, String> {
        let mut command = program("pg_ctl")?;
        command.args(["-w", "-s", "-t", "60", "-D"]).arg(self.data());
        Ok(command)
    }
}

/// Creates a folder. With [`Durability::Fast`], the folder is in memory if there is room for all tests that run at the
/// same time.
pub(crate) fn folder(prefix: &str, durability: Durability) -> Result<PathBuf, String> {
    let has_room = |found: StatVfs| found.f_bavail.saturating_mul(found.f_frsize) >= ROOM;
    let parent = match durability {
        Durability::Fast if statvfs(MEMORY).is_ok_and(has_room) => PathBuf::from(MEMORY),
        Durability::Fast | Durability::Full => env::temp_dir(),
    };
    let folder = tempfile::Builder::new().prefix(prefix).tempdir_in(parent);
    Ok(folder.map_err(|error| format!("no temporary folder: {error}"))?.keep())
}

fn settings(durability: Durability) -> String {
    let disk = match durability {
        Durability::Fast => "fsync = off\nfull_page_writes = off\n",
        Durability::Full => "",
    };
    format!("{disk}max_connections = 300\nshared_buffers = 64MB\nwal_level = replica\n")
}
