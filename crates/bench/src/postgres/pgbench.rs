//! pgbench: PostgreSQL's own load generator.

use std::{
    fs,
    path::{Path, PathBuf},
    process::Command,
};

use crate::{
    failure::{Context as _, Failure, Outcome},
    generator,
};

/// A table like the service's, for what pgbench adds: the service's own would change without its
/// mark.
pub(super) const TABLE: &str = "\
    CREATE TABLE bench_pet (
        id bigint PRIMARY KEY DEFAULT nextval('pet_id'),
        name text NOT NULL,
        category_id bigint NOT NULL,
        status text CHECK (status IN ('available', 'pending', 'sold'))
    );
    CREATE INDEX bench_available ON bench_pet (id) WHERE status = 'available';
    CREATE INDEX bench_pending ON bench_pet (id) WHERE status = 'pending';
    CREATE INDEX bench_sold ON bench_pet (id) WHERE status = 'sold';
    CREATE TABLE bench_mark (version bytea NOT NULL, changes bigint NOT NULL);
    INSERT INTO bench_mark VALUES ('\\x00', 0);";

/// Seconds more than a round has: pgbench's clock runs while it connects, its rate does not count
/// that.
const CONNECTING: f64 = 2.0;

const INSERT: &str = "INSERT INTO bench_pet (name, category_id, status) \
    VALUES ('Rex', :number, 'available') RETURNING id, name, category_id, status";

/// What pgbench does in one transaction.
#[derive(Clone, Copy, Debug)]
pub(super) enum Script {
    /// Reads one animal.
    Point,
    /// Reads 20 animals of a status.
    Page,
    /// Adds one animal.
    Insert,
    /// Adds one animal and writes the mark of the catalogue's state.
    InsertAndMark,
}

impl Script {
    /// Writes the script into a file in `folder`.
    pub(super) fn write_to(self, folder: &Path, animals: u64) -> Outcome<PathBuf> {
        let sql = match self {
            Self::Point => {
                "SELECT id, name, category_id, status FROM pet WHERE id = :number".into()
            }
            Self::Page => "SELECT id, name, category_id, status FROM pet WHERE id > :number \
                 AND status = 'available' ORDER BY id LIMIT 20"
                .into(),
            Self::Insert => INSERT.to_owned(),
            Self::InsertAndMark => format!(
                "WITH mark AS (UPDATE bench_mark SET version = '\\x01', changes = changes + 1) {INSERT}"
            ),
        };
        let script = format!("\\set number random(1, {animals})\n{sql};\n");
        let path = folder.join("script.sql");
        fs::write(&path, script).cannot("write a script for pgbench")?;
        Ok(path)
    }
}

/// The installed program.
#[derive(Debug)]
pub(super) struct Pgbench(PathBuf);

impl Pgbench {
    pub(super) fn find() -> Outcome<Self> {
        let found = ["pgbench", "psql"].map(generator::on_path);
        let [Some(pgbench), Some(_)] = found else {
            return Err(Failure::new(
                "PostgreSQL's programs pgbench and psql are not installed (in Debian: postgresql)",
            ));
        };
        Ok(Self(pgbench))
    }

    /// Transactions per second of one round, without the time to connect.
    pub(super) fn run(
        &self,
        script: &Path,
        url: &str,
        connections: usize,
        seconds: f64,
    ) -> Outcome<f64> {
        let output = Command::new(&self.0)
            .args(["--no-vacuum", "--protocol", "prepared", "--jobs", "1"])
            .args([
                "--client",
                &connections.to_string(),
                "--time",
                &format!("{:.0}", seconds + CONNECTING),
            ])
            .arg("--file")
            .arg(script)
            .arg(url)
            .env("PGOPTIONS", "-c synchronous_commit=on")
            .output()
            .cannot("run pgbench")?;
        let text = String::from_utf8_lossy(&output.stdout);
        let complaint = String::from_utf8_lossy(&output.stderr);
        if !output.status.success() {
            return Err(Failure::new(format!("pgbench failed: {}", complaint.trim())));
        }
        parse(&text).ok_or_else(|| Failure::new(format!("cannot read what pgbench said: {text}")))
    }
}

/// The rate; none if transactions failed.
fn parse(output: &str) -> Option<f64> {
    let value = |start: &str| output.lines().find_map(|line| line.strip_prefix(start));
    let failed = value("number of failed transactions: ").is_some_and(|n| !n.starts_with("0 "));
    let rate = value("tps = ")?.split(' ').next()?.parse().ok()?;
    (!failed).then_some(rate)
}

#[cfg(test)]
mod tests {
    use super::parse;

    #[test]
    fn the_rate_is_read_unless_transactions_failed() {
        let output = |failed| {
            format!(
                "number of failed transactions: {failed} (0.000%)\n\
                 latency average = 1.0 ms\ntps = 1234.5 (without initial connection time)\n"
            )
        };
        assert_eq!(parse(&output(0)), Some(1234.5));
        assert_eq!(parse(&output(3)), None);
        assert_eq!(parse(""), None);
    }
}
