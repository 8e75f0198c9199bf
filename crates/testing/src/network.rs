//! A network that can lose every packet: one kernel namespace for each server, and one for the router in front.

use std::{
    fs,
    path::Path,
    process::{self, Command},
    sync::atomic::{AtomicU32, Ordering},
};

use crate::{binaries::run, cluster::Cluster};

/// The prefix of the namespaces' names. The role, the number of the network and the process follow.
const PREFIX: &str = "petstore-";

/// A network for servers, numbered from 0 on, behind a router. Dropping the value removes the network. The namespaces
/// of a killed process are removed when the next network is created.
#[derive(Debug)]
pub struct Network {
    /// This process's end of the link to the router.
    link: String,
    router: String,
    servers: Vec<String>,
    /// The prefix of all addresses.
    net: String,
}

impl Network {
    /// Creates the namespaces, and the routes between this process and `servers` servers.
    pub(crate) fn new(servers: usize) -> Result<Self, String> {
        static COUNT: AtomicU32 = AtomicU32::new(0);
        remove_left_overs();
        let (id, count) = (process::id(), COUNT.fetch_add(1, Ordering::Relaxed));
        let network = Self {
            link: format!("pst{id}.{count}"),
            router: format!("{PREFIX}router-{count}-{id}"),
            servers: (0..servers).map(|n| format!("{PREFIX}server{n}-{count}-{id}")).collect(),
            // A part of 198.18.0.0/15, which is reserved for tests of networks (RFC 2544).
            net: format!("198.{}.{}", 18 + count % 2, (id + count / 2) % 256),
        };
        network.connect().map(|()| network)
    }

    /// Returns the address of a server.
    #[must_use]
    pub fn address(&self, server: usize) -> String {
        format!("{}.{}", self.net, 4 * server + 2)
    }

    /// Returns the words before a program that run it in a server's namespace.
    #[must_use]
    pub fn inside(&self, server: usize) -> [&str; 4] {
        ["ip", "netns", "exec", &self.servers[server]]
    }

    /// Returns the URL of a database of `cluster`, which is the first server of this network.
    #[must_use]
    pub fn url(&self, cluster: &Cluster, database: &str) -> String {
        cluster.url(database).replace("127.0.0.1", &self.address(0))
    }

    /// Makes the router silently drop every packet from and to a server.
    ///
    /// # Errors
    /// The kernel refuses.
    pub fn cut(&self, server: usize) -> Result<(), String> {
        self.lose("add", server, "all")
    }

    /// Ends [`cut`](Self::cut).
    ///
    /// # Errors
    /// The kernel refuses.
    pub fn heal(&self, server: usize) -> Result<(), String> {
        self.lose("del", server, "all")
    }

    /// Cuts a server off from the other servers. This process still reaches it.
    ///
    /// # Errors
    /// The kernel refuses.
    pub fn cut_from_others(&self, server: usize) -> Result<(), String> {
        self.lose("add", server, &format!("{}.0/25", self.net))
    }

    /// Ends [`cut_from_others`](Self::cut_from_others).
    ///
    /// # Errors
    /// The kernel refuses.
    pub fn heal_from_others(&self, server: usize) -> Result<(), String> {
        self.lose("del", server, &format!("{}.0/25", self.net))
    }

    fn lose(&self, action: &str, server: usize, others: &str) -> Result<(), String> {
        let (router, address) = (&self.router, self.address(server));
        // A router drops forwarded packets silently. A rule at the sender would return an error, so there is a router.
        ip(&format!("-n {router} rule {action} from {address} to {others} blackhole"))?;
        ip(&format!("-n {router} rule {action} from {others} to {address} blackhole")).map(drop)
    }

    fn connect(&self) -> Result<(), String> {
        let Self { link, router, servers, net } = self;
        let mut steps = vec![
            format!("netns add {router}"),
            format!("link add {link} type veth peer name outer netns {router}"),
            format!("addr add {net}.129/30 dev {link}"),
            format!("-n {router} addr add {net}.130/30 dev outer"),
            format!("link set {link} up"),
            format!("-n {router} link set outer up"),
            format!("route add {net}.0/25 via {net}.130"),
        ];
        for (number, server) in servers.iter().enumerate() {
            let (inner, address, gateway) = (
                format!("inner{number}"),
                self.address(number),
                format!("{net}.{}", 4 * number + 1),
            );
            steps.extend([
                format!("netns add {server}"),
                format!("-n {router} link add {inner} type veth peer name inner netns {server}"),
                format!("-n {router} addr add {gateway}/30 dev {inner}"),
                format!("-n {server} addr add {address}/30 dev inner"),
                format!("-n {router} link set {inner} up"),
                format!("-n {server} link set inner up"),
                format!("-n {server} link set lo up"),
                format!("-n {server} route add default via {gateway}"),
            ]);
        }
        steps.iter().try_for_each(|step| ip(step).map(drop))?;
        let forward = "echo 1 >/proc/sys/net/ipv4/ip_forward";
        run(inside(router).args(["sh", "-c", forward])).map(drop)
    }
}

impl Cluster {
    /// Starts the stopped server as the first server of `network`. The server is then not reachable on 127.0.0.1.
    ///
    /// # Errors
    /// The server does not start.
    pub fn resume_in(&self, network: &Network) -> Result<(), String> {
        let rules = self.home().join("data/pg_hba.conf");
        let trust_all = "host all,replication all 0.0.0.0/0 trust\n";
        fs::write(rules, trust_all).map_err(|error| error.to_string())?;
        self.configure("listen_addresses = '*'")?;
        let start = self.pg_ctl()?;
        let mut command = inside(&network.servers[0]);
        command.arg(start.get_program()).args(start.get_args()).current_dir("/");
        run(command.arg("-l").arg(self.home().join("log")).arg("start")).map(drop)
    }
}

impl Drop for Network {
    fn drop(&mut self) {
        for namespace in self.servers.iter().chain([&self.router]) {
            // Removing a namespace removes its links. A server's namespace exists until its last process ends.
            let _ = ip(&format!("netns del {namespace}"));
        }
    }
}

/// Removes the namespaces of processes that ended without removing them.
fn remove_left_overs() {
    let all = ip("netns list").unwrap_or_default();
    let names = all.lines().filter_map(|line| line.split_whitespace().next());
    for name in names.filter(|name| name.starts_with(PREFIX)) {
        let process = name.rsplit('-').next().unwrap_or_default();
        if !Path::new("/proc").join(process).exists() {
            let _ = ip(&format!("netns del {name}"));
        }
    }
}

/// Returns a command that runs a program in a namespace. The caller adds the program.
fn inside(namespace: &str) -> Command {
    let mut command = Command::new("ip");
    command.args(["netns", "exec", namespace]);
    command
}

fn ip(words: &str) -> Result<String, String> {
    run(Command::new("ip").args(words.split_whitespace()))
}
