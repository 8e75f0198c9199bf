//! A reverse proxy in front of a server, as operators run them.

use std::{
    fs::{self, File},
    net::{Ipv4Addr, SocketAddr},
    process::{Child, Command, Stdio},
};

use petstore_testing::{find_program, free_port, or_skip_without};
use tempfile::TempDir;

use super::{raw::Raw, server::Server, wait};

/// The kinds of proxy.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Kind {
    Nginx,
    Haproxy,
}

/// A proxy that runs until it is dropped.
pub(crate) struct Proxy {
    child: Child,
    folder: TempDir,
    pub(crate) address: SocketAddr,
}

impl Proxy {
    /// In front of `server`; `None` if it is not installed.
    pub(crate) fn start_or_skip(kind: Kind, server: &Server, test: &str) -> Option<Self> {
        let (name, configuration) = match kind {
            Kind::Nginx => ("nginx", include_str!("nginx.conf")),
            Kind::Haproxy => ("haproxy", include_str!("haproxy.cfg")),
        };
        let program = find_program(name).ok_or("it is not installed");
        let program = or_skip_without(name, test, program)?;
        let folder = tempfile::tempdir().unwrap();
        let address = SocketAddr::from((Ipv4Addr::LOCALHOST, free_port().unwrap()));
        let file = folder.path().join("configuration");
        let configuration = configuration
            .replace("ADDRESS", &address.to_string())
            .replace("SERVER", &server.address.to_string());
        fs::write(&file, configuration).unwrap();
        let mut command = Command::new(program);
        match kind {
            Kind::Nginx => command.arg("-p").arg(folder.path()).args(["-e", "stderr", "-c"]),
            Kind::Haproxy => command.args(["-db", "-f"]),
        };
        let log = File::create(folder.path().join("log")).unwrap();
        let errors = File::create(folder.path().join("errors")).unwrap();
        command.arg(file).stdin(Stdio::null()).stdout(log).stderr(errors);
        let mut proxy = Self { child: command.spawn().unwrap(), folder, address };
        wait::until("the proxy listens", || {
            let errors = fs::read_to_string(proxy.folder.path().join("errors"));
            assert!(proxy.child.try_wait().unwrap().is_none(), "the proxy ended: {errors:?}");
            Raw::try_to(address).is_ok()
        });
        Some(proxy)
    }

    /// How many requests it has sent to the server. Both write a line for each request that ends, which
    /// begins with `sent` if the server has got it.
    pub(crate) fn sent(&self) -> usize {
        let log = fs::read_to_string(self.folder.path().join("log")).unwrap();
        log.lines().filter(|line| line.starts_with("sent")).count()
    }
}

impl Drop for Proxy {
    fn drop(&mut self) {
        // It may have ended.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}
