//! Nodes of etcd, which form one cluster.

mod entries;
mod proxy;

use std::{
    fs::{self, File},
    io::{self, Read as _, Write as _},
    net::TcpStream,
    path::PathBuf,
    process::{Command, Stdio},
    sync::{Mutex, PoisonError},
    time::Duration,
};

use crate::{
    cluster::{Durability, folder},
    network::Network,
    ports::free_port,
    processes,
    watchdog::Watchdog,
};

/// Runs a node until standard input is closed. `read` is built into the shell, so the node is the shell's only child.
const NODE: &str = "\"$@\" & read -r _; kill -KILL \"$!\"; wait";
/// Removes the folder of all nodes once standard input is closed. Retries, because some nodes may still write there.
const CLEANER: &str = "read -r _; until rm -rf \"$0\"; do sleep 0.1; done";
/// The time limit of a node's answer.
const TIMEOUT: Duration = Duration::from_secs(2);

/// Nodes of one cluster, numbered from 0 on. Dropping the value ends the nodes; they never outlive this process.
#[derive(Debug)]
pub struct Etcd {
    nodes: Vec<Node>,
    home: PathBuf,
    _cleaner: Watchdog,
}

#[derive(Debug)]
struct Node {
    host: String,
    /// The words before the program, which run it in another network.
    inside: Vec<String>,
    port: u16,
    peer_port: u16,
    process: Mutex<Option<Watchdog>>,
}

impl Etcd {
    /// Starts `count` nodes on 127.0.0.1, and waits until they have a leader.
    ///
    /// # Errors
    /// etcd is not installed, or a node does not start. The logs of the nodes are part of the error.
    pub fn start(count: usize) -> Result<Self, String> {
        Self::start_in(count, None)
    }

    /// Starts the nodes as the servers of `network`, or on 127.0.0.1 if it is `None`.
    ///
    /// # Errors
    /// As for [`start`](Self::start).
    pub fn start_in(count: usize, network: Option<&Network>) -> Result<Self, String> {
        let etcd = Self::prepare(count, network)?;
        (0..count).try_for_each(|node| etcd.resume(node))?;
        etcd.wait_for_leader(None)?;
        Ok(etcd)
    }

    /// Prepares one folder for all nodes, and ports for each node. No node runs yet.
    ///
    /// # Errors
    /// There is no space, or no free port.
    pub fn prepare(count: usize, network: Option<&Network>) -> Result<Self, String> {
        let home = folder("petstore-etcd-", Durability::Fast)?;
        let mut cleaner = Command::new("/bin/sh");
        let cleaner = Watchdog::run(cleaner.args(["-c", CLEANER]).arg(&home), Stdio::null())?;
        let node = |node| {
            let [port, peer_port] = [free_port()?, free_port()?];
            let host = network.map_or_else(|| "127.0.0.1".to_owned(), |net| net.address(node));
            let inside = network.map(|net| net.inside(node).map(str::to_owned));
            let inside = inside.into_iter().flatten().collect();
            Ok(Node { host, inside, port, peer_port, process: Mutex::default() })
        };
        let nodes = (0..count).map(node).collect::<Result<_, String>>()?;
        Ok(Self { nodes, home, _cleaner: cleaner })
    }

    /// Returns the addresses for clients: `HOST:PORT,…`.
    #[must_use]
    pub fn endpoints(&self) -> String {
        let all: Vec<_> = self.nodes.iter().map(Node::endpoint).collect();
        all.join(",")
    }

    /// Returns the folder of a node's data. The node creates the folder.
    #[must_use]
    pub fn data(&self, node: usize) -> PathBuf {
        self.home.join(node.to_string())
    }

    /// Starts a stopped node. The node answers as soon as a majority of nodes runs.
    ///
    /// # Errors
    /// The shell cannot be run, or the log cannot be opened.
    pub fn resume(&self, node: usize) -> Result<(), String> {
        self.resume_with(node, &[])
    }

    /// Starts a stopped node with further flags, which override earlier flags.
    ///
    /// # Errors
    /// As for [`resume`](Self::resume).
    pub fn resume_with(&self, node: usize, flags: &[String]) -> Result<(), String> {
        let Node { host, inside, port, peer_port, process } = &self.nodes[node];
        let [client, peer] = [port, peer_port].map(|port| format!("http://{host}:{port}"));
        let member = |(name, Node { host, peer_port, .. }): (usize, &Node)| {
            format!("n{name}=http://{host}:{peer_port}")
        };
        let members: Vec<_> = self.nodes.iter().enumerate().map(member).collect();
        let log = File::options().create(true).append(true).open(self.log(node));
        let name = format!("n{node}");
        let mut shell = Command::new("/bin/sh");
        shell.args(["-c", NODE, "sh"]).args(inside).args([
            "etcd",
            "--pre-vote",
            "--log-level=error",
        ]);
        shell.args(["--logger=zap", "--name", &name, "--data-dir"]).arg(self.data(node));
        shell.args(["--listen-client-urls", &client, "--advertise-client-urls", &client]);
        shell.args(["--listen-peer-urls", &peer, "--initial-advertise-peer-urls", &peer]);
        shell.args(["--initial-cluster", &members.join(",")]);
        shell.args(flags);
        // Collects garbage less often than by default, which saves processor time.
        shell.env("GOGC", "400");
        let started = Watchdog::run(&mut shell, log.map_err(|error| error.to_string())?.into())?;
        *process.lock().unwrap_or_else(PoisonError::into_inner) = Some(started);
        Ok(())
    }

    /// Restarts the first node with further flags, or starts it, and waits until there is a leader.
    ///
    /// # Errors
    /// As for [`start`](Self::start).
    pub fn restart_with(&self, flags: &[String]) -> Result<(), String> {
        self.kill(0);
        self.resume_with(0, flags)?;
        self.wait_for_leader(None).map(drop)
    }

    /// Kills a node with signal 9.
    pub fn kill(&self, node: usize) {
        *self.nodes[node].process.lock().unwrap_or_else(PoisonError::into_inner) = None;
    }

    /// Sends a signal to a node, such as `STOP` or `CONT`.
    ///
    /// # Errors
    /// The node does not run.
    pub fn signal(&self, node: usize, signal: &str) -> Result<(), String> {
        let process = self.nodes[node].process.lock().unwrap_or_else(PoisonError::into_inner);
        let children = process.as_ref().ok_or("the node does not run")?.children();
        processes::send(signal, &children)?;
        if signal != "STOP" {
            return Ok(());
        }
        // Each thread stops only when it is scheduled next, so a stopped node may run for a moment.
        processes::wait_until("the node is stopped", || {
            children.iter().all(|id| processes::is_stopped(id))
        })
    }

    /// Waits until a node other than `old` is the leader.
    ///
    /// # Errors
    /// There is no leader within a minute.
    pub fn wait_for_leader(&self, old: Option<usize>) -> Result<usize, String> {
        let mut found = None;
        let happened = processes::wait_until("a leader", || {
            found = self.leader().filter(|leader| Some(*leader) != old);
            found.is_some()
        });
        let log = |node| fs::read_to_string(self.log(node)).unwrap_or_default();
        let logs = || (0..self.nodes.len()).map(log).collect::<String>();
        happened.map_err(|error| error + &logs())?;
        found.ok_or_else(logs)
    }

    /// Returns the node that reports itself as the leader of the latest term.
    #[must_use]
    pub fn leader(&self) -> Option<usize> {
        let term = |node| {
            let status = self.post(node, "/v3/maintenance/status", "{}").ok()?;
            let field =
                |name: &str| status.split_once(&format!("\"{name}\":\""))?.1.split('"').next();
            (field("leader")? == field("member_id")?)
                .then(|| field("raftTerm")?.parse::<u64>().ok())?
        };
        let terms = (0..self.nodes.len()).filter_map(|node| Some((term(node)?, node)));
        terms.max().map(|(_, leader)| leader)
    }

    /// Posts JSON to a path of a node's JSON gateway, such as `/v3/maintenance/status`. Returns the body of the answer.
    ///
    /// # Errors
    /// The node does not answer 200 in time.
    pub fn post(&self, node: usize, path: &str, json: &str) -> Result<String, String> {
        self.nodes[node].post(path, json).map_err(|error| error.to_string()).and_then(|answer| {
            let body = answer.split_once("\r\n\r\n").filter(|_| answer.contains(" 200 OK\r\n"));
            body.map(|(_, body)| body.to_owned()).ok_or(answer)
        })
    }

    fn log(&self, node: usize) -> PathBuf {
        self.home.join(format!("{node}.log"))
    }
}

impl Node {
    fn endpoint(&self) -> String {
        format!("{}:{}", self.host, self.port)
    }

    fn post(&self, path: &str, json: &str) -> io::Result<String> {
        let address = self.endpoint().parse().map_err(io::Error::other)?;
        // A node that is cut off does not even refuse connections, so connecting needs a time limit too.
        let mut stream = TcpStream::connect_timeout(&address, TIMEOUT)?;
        stream.set_read_timeout(Some(TIMEOUT))?;
        write!(stream, "POST {path} HTTP/1.0\r\nContent-Length: {}\r\n\r\n{json}", json.len())?;
        let mut answer = String::new();
        stream.read_to_string(&mut answer)?;
        Ok(answer)
    }
}
