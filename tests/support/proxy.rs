//! A reverse proxy in front of a server, with the configuration that operators find in `docs/deploy/proxy`.

use std::{
    fs::{self, File},
    net::{Ipv4Addr, SocketAddr},
    process::{Command, Stdio},
};

use petstore_testing::{find_program, free_port};
use tempfile::TempDir;

use super::{
    command::{Running, spawn},
    raw::Raw,
    server::Server,
    wait,
};

/// The kinds of proxy.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Kind {
    Nginx,
    Haproxy,
    Caddy,
}

/// A proxy that runs until it is dropped.
pub(crate) struct Proxy {
    child: Running,
    folder: TempDir,
    pub(crate) address: SocketAddr,
}

impl Proxy {
    /// Starts a proxy in front of `server`.
    pub(crate) fn start(kind: Kind, server: &Server) -> Self {
        let (name, around, configuration, listens, server_name) = match kind {
            Kind::Nginx => (
                "nginx",
                include_str!("nginx.conf"),
                include_str!("../../docs/deploy/proxy/nginx.conf"),
                ["listen 80;", "listen ADDRESS;"],
                ["", ""],
            ),
            Kind::Haproxy => (
                "haproxy",
                include_str!("haproxy.cfg"),
                include_str!("../../docs/deploy/proxy/haproxy.cfg"),
                ["bind :80\n", "bind ADDRESS\n"],
                ["server petstore ", "server sent "],
            ),
            Kind::Caddy => (
                "caddy",
                "{\n\tadmin off\n}\nimport PROXY\n",
                include_str!("../../docs/deploy/proxy/Caddyfile"),
                ["api.example {", "http://:PORT {"],
                ["", ""],
            ),
        };
        let (folder, mut configuration) = (tempfile::tempdir().unwrap(), configuration.to_owned());
        let address = SocketAddr::from((Ipv4Addr::LOCALHOST, free_port().unwrap()));
        for [old, new] in [listens, server_name, ["127.0.0.1:8080", &server.address.to_string()]] {
            assert!(configuration.contains(old), "{name}: the configuration lacks {old:?}");
            let new = new.replace("ADDRESS", &address.to_string());
            configuration =
                configuration.replace(old, &new.replace("PORT", &address.port().to_string()));
        }
        let [main, included] = ["main", "included"].map(|name| folder.path().join(name));
        fs::write(&main, around.replace("PROXY", included.to_str().unwrap())).unwrap();
        fs::write(&included, configuration).unwrap();
        let mut command = Command::new(find_program(name).unwrap());
        match kind {
            Kind::Nginx => {
                command.arg("-p").arg(folder.path()).args(["-e", "stderr", "-c"]).arg(main)
            }
            Kind::Haproxy => command.args(["-db", "-f"]).arg(main).arg("-f").arg(included),
            Kind::Caddy => {
                command.args(["run", "--adapter", "caddyfile", "--config"]).arg(main);
                command.env("HOME", folder.path()).env_remove("XDG_DATA_HOME")
            }
        };
        let log = File::create(folder.path().join("log")).unwrap();
        let errors = File::create(folder.path().join("errors")).unwrap();
        command.stdin(Stdio::null()).stdout(log).stderr(errors);
        let mut proxy = Self { child: spawn(&mut command), folder, address };
        wait::until("the proxy listens", || {
            let errors = fs::read_to_string(proxy.folder.path().join("errors"));
            assert!(proxy.child.try_wait().unwrap().is_none(), "the proxy ended: {errors:?}");
            Raw::try_to(address).is_ok()
        });
        proxy
    }

    /// Returns how many requests the proxy has sent to the server; not for Caddy. nginx and `HAProxy` log a line for
    /// each request that ends. The line begins with `sent` if the server got the request.
    pub(crate) fn sent(&self) -> usize {
        let log = fs::read_to_string(self.folder.path().join("log")).unwrap();
        log.lines().filter(|line| line.starts_with("sent")).count()
    }
}
