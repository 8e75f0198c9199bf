//! One database for one test.

use std::{
    env, process,
    sync::{
        OnceLock,
        atomic::{AtomicU32, Ordering},
    },
};

use crate::{
    binaries::{run_all, sql},
    cluster::{Cluster, Durability},
    programs::EXTERNAL,
};

/// A new and empty database. Dropping the value drops the database, even if connections are open.
#[derive(Debug)]
pub struct Database {
    /// `postgres://…/NAME`, with the role and the parameters of the server's own URL.
    pub url: String,
    name: String,
    server: String,
}

impl Database {
    /// Creates a database on the server that all tests of this process share.
    ///
    /// # Errors
    /// PostgreSQL is not installed, or the server does not start, or refuses the database.
    pub fn create() -> Result<Self, String> {
        static SHARED: OnceLock<Result<Cluster, String>> = OnceLock::new();
        if let Ok(url) = env::var(EXTERNAL) {
            return Self::fresh(&url);
        }
        let shared = SHARED.get_or_init(|| Cluster::start(Durability::Fast));
        Self::fresh(&shared.as_ref()?.url("postgres"))
    }

    /// Creates a database on a server. `server` is the URL of any database on it.
    fn fresh(server: &str) -> Result<Self, String> {
        static COUNT: AtomicU32 = AtomicU32::new(0);
        let number = COUNT.fetch_add(1, Ordering::Relaxed);
        let name = format!("petstore_{}_{number}", process::id());
        // PostgreSQL requires this template for an encoding or collation that differs from the server's own.
        let template = format!("TEMPLATE template0 ENCODING 'UTF8' {}", strategy(server)?);
        sql(server, &format!("CREATE DATABASE {name} {template}"))?;
        Ok(Self { url: with_database(server, &name), name, server: server.to_owned() })
    }

    /// Runs SQL in the database. Returns the rows as text, with `|` between the columns.
    ///
    /// # Errors
    /// The error text of the server.
    pub fn sql(&self, sql_text: &str) -> Result<String, String> {
        sql(&self.url, sql_text)
    }

    /// Refuses new connections, and ends the open connections.
    ///
    /// # Errors
    /// The error text of the server.
    pub fn cut_off(&self) -> Result<(), String> {
        sql(&self.server, &format!("ALTER DATABASE {} ALLOW_CONNECTIONS false", self.name))?;
        self.disconnect_all()
    }

    /// Accepts connections again.
    ///
    /// # Errors
    /// The error text of the server.
    pub fn reconnect(&self) -> Result<(), String> {
        sql(&self.server, &format!("ALTER DATABASE {} ALLOW_CONNECTIONS true", self.name)).map(drop)
    }

    /// Ends every connection to this database.
    ///
    /// # Errors
    /// The error text of the server.
    pub fn disconnect_all(&self) -> Result<(), String> {
        sql(&self.server, &terminate(&self.name)).map(drop)
    }
}

impl Drop for Database {
    fn drop(&mut self) {
        // A stopped server needs no cleanup: its databases are removed with the server.
        let drop = format!("DROP DATABASE IF EXISTS {}", self.name);
        let _ = run_all(&self.server, &[&terminate(&self.name), &drop]);
    }
}

/// Returns the words with which the server copies files to create a database, which takes half the processor time of
/// writing them to the log. PostgreSQL before 15 knows no other way, and not these words.
fn strategy(server: &str) -> Result<&'static str, String> {
    static VERSION: OnceLock<Result<String, String>> = OnceLock::new();
    let version = VERSION.get_or_init(|| sql(server, "SHOW server_version_num")).as_ref();
    let number: u32 = version?.trim().parse().map_err(|_| "the server has no version")?;
    Ok(if number < 150_000 { "" } else { "STRATEGY file_copy" })
}

/// Returns the statement that ends every connection to the database.
fn terminate(name: &str) -> String {
    format!("SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE datname = '{name}'")
}

/// Replaces the database in the URL by `name`.
fn with_database(url: &str, name: &str) -> String {
    let (address, query) =
        url.split_once('?').map_or((url, ""), |(address, query)| (address, query));
    let scheme = address.find("://").map_or(0, |at| at + 3);
    let end = address[scheme..].find('/').map_or(address.len(), |at| scheme + at);
    let query = if query.is_empty() { String::new() } else { format!("?{query}") };
    format!("{}/{name}{query}", &address[..end])
}
