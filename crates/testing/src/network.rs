//! A network that can lose every packet: two namespaces of the kernel, one for a server, one for
//! the router on the way to it.

use std::{
    fs,
    path::Path,
    process::{self, Command},
    sync::atomic::{AtomicU32, Ordering},
};

use crate::{binaries::run, cluster::Cluster, trouble::Trouble};

/// The beginning of the names of our namespaces; behind it stand the role and the process.
const PREFIX: &str = "petstore-";

/// A server's own network, reached through a router. It ends with the value; what a process that
/// was killed has left, the next one removes.
#[derive(Debug)]
pub struct Network {
    /// Our end of the link to the router.
    link: String,
    router: String,
    server: String,
    /// What all its addresses begin with.
    net: String,
}

impl Network {
    /// Makes the namespaces, and the way from here through the router to the server and back.
    pub(crate) fn new() -> Result<Self, Trouble> {
        static COUNT: AtomicU32 = AtomicU32::new(0);
        remove_left_overs();
        let (id, count) = (process::id(), COUNT.fetch_add(1, Ordering::Relaxed));
        let network = Self {
            link: format!("pst{id}.{count}"),
            router: format!("{PREFIX}router-{count}-{id}"),
            server: format!("{PREFIX}server-{count}-{id}"),
            // Out of 198.18.0.0/15, which is kept for tests of networks (RFC 2544).
            net: format!("198.{}.{}", 18 + count % 2, (id + count / 2) % 256),
        };
        network.connect().map(|()| network)
    }

    /// The server's address.
    #[must_use]
    pub fn address(&self) -> String {
        format!("{}.6", self.net)
    }

    /// The URL of a database of a server that runs in this network.
    #[must_use]
    pub fn url(&self, cluster: &Cluster, database: &str) -> String {
        cluster.url(database).replace("127.0.0.1", &self.address())
    }

    /// From now on the router loses every packet, in either direction, without an error message.
    ///
    /// # Errors
    /// The kernel refuses.
    pub fn cut(&self) -> Result<(), Trouble> {
        self.holes("add")
    }

    /// From now on packets arrive again.
    ///
    /// # Errors
    /// The kernel refuses.
    pub fn heal(&self) -> Result<(), Trouble> {
        self.holes("del")
    }

    fn holes(&self, action: &str) -> Result<(), Trouble> {
        let Self { router, net, .. } = self;
        // A router is silent about what it forwards into such a route; the sender of a packet would
        // be told, which is why there is a router at all.
        ip(&format!("-n {router} route {action} blackhole {net}.6/32"))?;
        ip(&format!("-n {router} route {action} blackhole {net}.1/32")).map(drop)
    }

    fn connect(&self) -> Result<(), Trouble> {
        let Self { link, router, server, net } = self;
        for step in [
            format!("netns add {router}"),
            format!("netns add {server}"),
            format!("link add {link} type veth peer name outer netns {router}"),
            format!("-n {router} link add inner type veth peer name inner netns {server}"),
            format!("addr add {net}.1/30 dev {link}"),
            format!("-n {router} addr add {net}.2/30 dev outer"),
            format!("-n {router} addr add {net}.5/30 dev inner"),
            format!("-n {server} addr add {net}.6/30 dev inner"),
            format!("link set {link} up"),
            format!("-n {router} link set outer up"),
            format!("-n {router} link set inner up"),
            format!("-n {server} link set inner up"),
            format!("-n {server} link set lo up"),
            format!("route add {net}.4/30 via {net}.2"),
            format!("-n {server} route add default via {net}.5"),
        ] {
            ip(&step)?;
        }
        let forward = "echo 1 >/proc/sys/net/ipv4/ip_forward";
        run(inside(router).args(["sh", "-c", forward])).map(drop)
    }
}

impl Cluster {
    /// Starts the server, which must not run, in `network`; it is not reachable on 127.0.0.1 then.
    ///
    /// # Errors
    /// It does not start.
    pub fn resume_in(&self, network: &Network) -> Result<(), Trouble> {
        let rules = self.home().join("data/pg_hba.conf");
        let trust_all = "host all,replication all 0.0.0.0/0 trust\n";
        fs::write(rules, trust_all).map_err(|error| error.to_string())?;
        self.configure("listen_addresses = '*'")?;
        let start = self.pg_ctl()?;
        let mut command = inside(&network.server);
        command.arg(start.get_program()).args(start.get_args()).current_dir("/");
        run(command.arg("-l").arg(self.home().join("log")).arg("start")).map(drop)
    }
}

impl Drop for Network {
    fn drop(&mut self) {
        for namespace in [&self.router, &self.server] {
            // Their links are removed with them. The server's namespace exists until its last process ends.
            let _ = ip(&format!("netns del {namespace}"));
        }
    }
}

/// Removes namespaces whose process has ended without doing so.
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

/// Runs what follows in a namespace.
fn inside(namespace: &str) -> Command {
    let mut command = Command::new("ip");
    command.args(["netns", "exec", namespace]);
    command
}

fn ip(words: &str) -> Result<String, Trouble> {
    run(Command::new("ip").args(words.split_whitespace()))
}
