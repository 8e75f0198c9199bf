//! A database for one run of the benchmark.

use std::process::{self, Command};

use petstore_testing::{Cluster, Durability};

use crate::failure::{Context as _, Failure, Outcome};

/// More than the connections of pgbench and of the service together.
const MANY_CONNECTIONS: &str = "max_connections = 600\nlog_min_messages = error\n";

/// A new database, dropped with the value, on a server that may end with it too.
#[derive(Debug)]
pub(super) struct Scratch {
    /// Its URL.
    pub(super) url: String,
    name: String,
    /// A database of the same server that was there before.
    neighbour: String,
    _cluster: Option<Cluster>,
}

impl Scratch {
    /// On the server of the URL `server`, or on a throw-away one where that is empty.
    pub(super) fn make(server: &str) -> Outcome<Self> {
        let (neighbour, cluster) = if server.is_empty() {
            let cluster = throw_away().map_err(Failure::new)?;
            (cluster.url("postgres"), Some(cluster))
        } else {
            (server.to_owned(), None)
        };
        let name = format!("petstore_bench_{}", process::id());
        psql(&neighbour, &format!("CREATE DATABASE {name}"))?;
        let url = with_database(&neighbour, &name).ok_or_else(|| {
            Failure::new("--postgres needs a URL like postgres://USER@HOST/DATABASE")
        })?;
        Ok(Self { url, name, neighbour, _cluster: cluster })
    }

    pub(super) fn sql(&self, sql: &str) -> Outcome<()> {
        psql(&self.url, sql)
    }
}

impl Drop for Scratch {
    fn drop(&mut self) {
        // A throw-away server takes its databases with it.
        let _ =
            psql(&self.neighbour, &format!("DROP DATABASE IF EXISTS {} WITH (FORCE)", self.name));
    }
}

fn throw_away() -> Result<Cluster, String> {
    let cluster = Cluster::start(Durability::Full)?;
    cluster.configure(MANY_CONNECTIONS)?;
    cluster.restart()?;
    Ok(cluster)
}

fn psql(url: &str, sql: &str) -> Outcome<()> {
    let options = ["-X", "-q", "-v", "ON_ERROR_STOP=1", "-c", sql, url];
    let output = Command::new("psql").args(options).output().cannot("run psql")?;
    if output.status.success() {
        return Ok(());
    }
    Err(Failure::new(format!("psql: {}", String::from_utf8_lossy(&output.stderr).trim())))
}

/// The URL with another database.
fn with_database(url: &str, name: &str) -> Option<String> {
    let (address, query) = url.split_once('?').unwrap_or((url, ""));
    let (scheme, rest) = address.split_once("://")?;
    let authority = rest.split('/').next()?;
    let query = if query.is_empty() { String::new() } else { format!("?{query}") };
    Some(format!("{scheme}://{authority}/{name}{query}"))
}

#[cfg(test)]
mod tests {
    use super::with_database;

    #[test]
    fn a_database_replaces_the_one_in_the_url() {
        let table = [
            ("postgres://a:b@h:1/old", Some("postgres://a:b@h:1/new")),
            ("postgres://h/old?sslmode=disable", Some("postgres://h/new?sslmode=disable")),
            ("postgres://h", Some("postgres://h/new")),
            ("h/old", None),
        ];
        for (url, expected) in table {
            assert_eq!(with_database(url, "new").as_deref(), expected);
        }
    }
}
