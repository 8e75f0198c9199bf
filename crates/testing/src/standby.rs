//! A second server that follows the first.

use std::{fs, path::Path};

use crate::{
    binaries::{as_server_user, run},
    cluster::{Cluster, Durability, ROLE},
    processes,
};

/// The name of the standby in its connection to the primary.
const NAME: &str = "standby";

impl Cluster {
    /// Creates a synchronous standby: every later commit is on both servers. Stops this server while its files are
    /// copied, because `pg_basebackup` may be missing.
    ///
    /// # Errors
    /// The standby does not start, or does not follow.
    pub fn standby(&self) -> Result<Self, String> {
        let standby = Self::prepare(Durability::Full)?;
        self.stop()?;
        run(as_server_user(Path::new("cp")).arg("-a").arg(self.data()).arg(standby.data()))?;
        self.resume()?;
        let signal = standby.data().join("standby.signal");
        fs::write(&signal, "").map_err(|error| format!("no {}: {error}", signal.display()))?;
        standby.configure(&format!(
            "hot_standby = on\nprimary_conninfo = 'host=127.0.0.1 port={} user={ROLE} \
             application_name={NAME} connect_timeout=3'",
            self.port()
        ))?;
        standby.resume()?;
        self.sql(&format!("ALTER SYSTEM SET synchronous_standby_names = '{NAME}'"))?;
        self.sql("SELECT pg_reload_conf()")?;
        self.wait_for("SELECT count(*) FROM pg_stat_replication WHERE sync_state = 'sync'", "1")?;
        Ok(standby)
    }

    /// Promotes this standby to a primary.
    ///
    /// # Errors
    /// The standby refuses.
    pub fn promote(&self) -> Result<(), String> {
        run(self.pg_ctl()?.arg("promote")).map(drop)
    }

    /// Waits until a query returns `expected`.
    ///
    /// # Errors
    /// The query does not return `expected` within a minute.
    pub fn wait_for(&self, query: &str, expected: &str) -> Result<(), String> {
        let what = format!("'{query}' answers '{expected}'");
        processes::wait_until(&what, || self.sql(query).is_ok_and(|rows| rows.trim() == expected))
    }
}
