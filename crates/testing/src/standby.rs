//! A second server that follows the first.

use std::{thread, time::Duration};

use crate::{
    binaries::{program, run},
    cluster::{Cluster, ROLE},
    trouble::Trouble,
};

/// How the standby calls itself when it follows.
const NAME: &str = "standby";

impl Cluster {
    /// Makes a synchronous standby: from then on, what this server has acknowledged is on both.
    ///
    /// # Errors
    /// It does not start, or does not follow.
    pub fn standby(&self) -> Result<Self, Trouble> {
        let standby = Self::prepare()?;
        let source = format!(
            "host=127.0.0.1 port={} user={ROLE} application_name={NAME} connect_timeout=3",
            self.port()
        );
        run(program("pg_basebackup")?
            .args(["-c", "fast", "-X", "stream", "-R", "--no-sync", "-d", &source, "-D"])
            .arg(standby.data()))?;
        standby.configure("hot_standby = on")?;
        standby.resume()?;
        self.sql(&format!("ALTER SYSTEM SET synchronous_standby_names = '{NAME}'"))?;
        self.sql("SELECT pg_reload_conf()")?;
        self.wait_for("SELECT count(*) FROM pg_stat_replication WHERE sync_state = 'sync'", "1")?;
        Ok(standby)
    }

    /// Makes a standby a server that takes writes.
    ///
    /// # Errors
    /// It refuses.
    pub fn promote(&self) -> Result<(), Trouble> {
        run(self.pg_ctl()?.arg("promote")).map(drop)
    }

    /// Waits until a query answers `expected`.
    ///
    /// # Errors
    /// It does not within ten seconds.
    pub fn wait_for(&self, query: &str, expected: &str) -> Result<(), Trouble> {
        for _ in 0..200 {
            if self.sql(query)?.trim() == expected {
                return Ok(());
            }
            thread::sleep(Duration::from_millis(50));
        }
        Err(format!("'{query}' never answered '{expected}'"))
    }
}
