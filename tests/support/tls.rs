//! Certificates of throw-away services, and a client that speaks TLS.

use std::{
    fs,
    io::{self, Read as _, Write as _},
    net::{SocketAddr, TcpStream},
    path::{Path, PathBuf},
    sync::Arc,
};

use rcgen::{CertificateParams, KeyPair, date_time_ymd};
use rustls::{
    CipherSuite, ClientConfig, ClientConnection, RootCertStore, StreamOwned,
    crypto::ring,
    pki_types::{CertificateDer, ServerName},
};

use super::{raw, wait};

/// A certificate for `localhost` that is its own authority, and its private key.
pub(crate) struct Pair {
    pub(crate) der: CertificateDer<'static>,
    certificate: String,
    key: String,
}

impl Pair {
    /// Valid from `from` until `until`, which are years.
    pub(crate) fn valid(from: i32, until: i32) -> Self {
        let key = KeyPair::generate().unwrap();
        let mut params = CertificateParams::new(vec!["localhost".to_owned()]).unwrap();
        params.not_before = date_time_ymd(from, 1, 1);
        params.not_after = date_time_ymd(until, 1, 1);
        let certificate = params.self_signed(&key).unwrap();
        let der = certificate.der().clone();
        Self { der, certificate: certificate.pem(), key: key.serialize_pem() }
    }

    pub(crate) fn new() -> Self {
        Self::valid(2020, 4096)
    }

    /// Writes both files into `folder`: where they are.
    pub(crate) fn write(&self, folder: &Path) -> Files {
        let files = Files { certificate: folder.join("cert.pem"), key: folder.join("key.pem") };
        fs::write(&files.certificate, &self.certificate).unwrap();
        fs::write(&files.key, &self.key).unwrap();
        files
    }
}

/// Where a certificate and its key are.
pub(crate) struct Files {
    pub(crate) certificate: PathBuf,
    pub(crate) key: PathBuf,
}

/// A connection over TLS.
pub(crate) struct Tls(StreamOwned<ClientConnection, TcpStream>);

impl Tls {
    /// Connects to `address`, trusts `pair` alone and offers these protocols.
    pub(crate) fn connect(
        address: SocketAddr,
        pair: &Pair,
        protocols: &[&str],
    ) -> io::Result<Self> {
        let mut roots = RootCertStore::empty();
        roots.add(pair.der.clone()).unwrap();
        // It prefers what a server should choose last.
        let mut provider = ring::default_provider();
        provider.cipher_suites.reverse();
        let mut config = ClientConfig::builder_with_provider(Arc::new(provider))
            .with_safe_default_protocol_versions()
            .unwrap()
            .with_root_certificates(roots)
            .with_no_client_auth();
        config.alpn_protocols = protocols.iter().map(|name| name.as_bytes().to_vec()).collect();
        let name = ServerName::try_from("localhost").unwrap();
        let connection = ClientConnection::new(Arc::new(config), name).unwrap();
        let stream = TcpStream::connect(address)?;
        stream.set_read_timeout(Some(wait::LIMIT))?;
        let mut stream = StreamOwned::new(connection, stream);
        stream.conn.complete_io(&mut stream.sock)?;
        Ok(Self(stream))
    }

    /// The protocol that the server has chosen.
    pub(crate) fn protocol(&self) -> String {
        String::from_utf8(self.0.conn.alpn_protocol().unwrap_or_default().to_vec()).unwrap()
    }

    /// The cipher suite that the server has chosen.
    pub(crate) fn cipher_suite(&self) -> Option<CipherSuite> {
        self.0.conn.negotiated_cipher_suite().map(|suite| suite.suite())
    }

    /// The client's own address.
    pub(crate) fn local_address(&self) -> SocketAddr {
        self.0.sock.local_addr().unwrap()
    }

    pub(crate) fn send(&mut self, bytes: impl AsRef<[u8]>) {
        self.0.write_all(bytes.as_ref()).unwrap();
        self.0.flush().unwrap();
    }

    /// So many bytes of what the server sends.
    pub(crate) fn read(&mut self, length: usize) -> Vec<u8> {
        let mut bytes = vec![0; length];
        self.0.read_exact(&mut bytes).unwrap();
        bytes
    }

    /// Asks over HTTP/1.1: status line and body.
    pub(crate) fn ask(&mut self, method: &str, target: &str) -> (String, String) {
        self.send(raw::head(method, target, ""));
        let mut head = String::new();
        while !head.ends_with("\r\n\r\n") {
            head.push(char::from(self.read(1)[0]));
        }
        let length = head.lines().find_map(|line| line.strip_prefix("content-length: "));
        let body = self.read(length.map_or(0, |length| length.parse().unwrap()));
        let status = head.lines().next().unwrap_or_default().to_owned();
        (status, String::from_utf8(body).unwrap())
    }
}
