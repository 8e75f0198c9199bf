//! A Patroni cluster, made by `tests/tools/cluster`.

use std::{
    env, fs,
    io::Read as _,
    path::{Path, PathBuf},
    process::{self, Child, Command, Stdio},
};

use petstore_testing::or_skip_without;

use crate::support::command::{complete, lines};

/// Three nodes and `HAProxy`. Dropping the value, or the end of this process, ends them.
pub(crate) struct Patroni {
    folder: PathBuf,
    process: Child,
}

impl Patroni {
    /// Starts a cluster with an empty database. With `namespaces`, which need root, each node has a network namespace.
    /// Returns `None` if the cluster cannot start, for example without one of its programs.
    pub(crate) fn or_skip(namespaces: bool) -> Option<Self> {
        let root = if namespaces { " and root" } else { "" };
        let need = format!("Patroni, etcd, PostgreSQL, HAProxy{root}");
        or_skip_without(&need, Self::start(namespaces))
    }

    fn start(namespaces: bool) -> Result<Self, String> {
        let folder = env::temp_dir().join(format!("petstore-cluster-{}", process::id()));
        let mut command = script();
        command.arg("up").arg(&folder);
        if namespaces {
            command.arg("--namespaces");
        }
        command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
        let mut process = command.spawn().map_err(|error| error.to_string())?;
        let said = lines(process.stdout.take().unwrap()).next();
        let cluster = Self { folder, process };
        if said.is_some() { Ok(cluster) } else { Err(cluster.complaint()) }
    }

    fn complaint(mut self) -> String {
        drop(self.process.stdin.take());
        let mut complaint = String::new();
        self.process.stderr.take().unwrap().read_to_string(&mut complaint).unwrap();
        complaint
    }

    /// Runs a command of the script on this cluster. Returns its output.
    #[track_caller]
    pub(crate) fn run(&self, command: &str, node: &str) -> String {
        let done = complete(script().arg(command).arg(&self.folder).arg(node));
        assert_eq!(done.code, Some(0), "{command} {node}: {}\n{}", done.stderr, self.logs());
        done.stdout.trim_end().to_owned()
    }

    /// Returns the last lines of each node's Patroni log.
    fn logs(&self) -> String {
        let log = |node| {
            let log = fs::read_to_string(self.folder.join(node).join("patroni.log"));
            let log = log.unwrap_or_default();
            let lines: Vec<_> = log.lines().rev().take(15).collect();
            format!("{node}:\n{}\n", lines.into_iter().rev().collect::<Vec<_>>().join("\n"))
        };
        ["n1", "n2", "n3"].map(log).concat()
    }
}

impl Drop for Patroni {
    fn drop(&mut self) {
        drop(self.process.stdin.take());
        let _ = self.process.wait();
    }
}

fn script() -> Command {
    Command::new(Path::new(env!("CARGO_MANIFEST_DIR")).join("../../tests/tools/cluster"))
}
