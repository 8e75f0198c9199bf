//! Certificates for tests, and a client that speaks TLS.

use std::{
    fs,
    io::{self, Read as _, Write as _},
    net::{SocketAddr, TcpStream},
    path::Path,
    sync::Arc,
    time::{Duration, SystemTime},
};

use rcgen::{
    BasicConstraints, CertificateParams, CertifiedIssuer, DnType, IsCa, KeyPair, date_time_ymd,
};
use rustls::{
    CipherSuite, ClientConfig, ClientConnection, RootCertStore, StreamOwned,
    crypto::ring,
    pki_types::{CertificateDer, ServerName},
};

use super::{raw, server::Launch, wait};

/// A certificate for `localhost`, and its private key.
pub(crate) struct Pair {
    /// The certificate of the authority; for a self-signed certificate, the certificate itself.
    pub(crate) der: CertificateDer<'static>,
    certificate: String,
    key: String,
}

impl Pair {
    /// Makes a certificate that is valid between two moments, in days from now. Negative numbers are in the past.
    pub(crate) fn valid(from_days: i64, until_days: i64) -> Self {
        let key = KeyPair::generate().unwrap();
        let mut params = CertificateParams::new(vec!["localhost".to_owned()]).unwrap();
        let date = |days: i64| {
            let now = SystemTime::UNIX_EPOCH.elapsed().unwrap().as_secs();
            date_time_ymd(1970, 1, 1) + Duration::from_secs(now.strict_add_signed(days * 86_400))
        };
        [params.not_before, params.not_after] = [from_days, until_days].map(date);
        let certificate = params.self_signed(&key).unwrap();
        let der = certificate.der().clone();
        Self { der, certificate: certificate.pem(), key: key.serialize_pem() }
    }

    pub(crate) fn new() -> Self {
        Self::valid(-1, 1000)
    }

    /// Makes a certificate with an intermediate certificate between it and its authority.
    pub(crate) fn chained() -> Self {
        let named = |name: &str| {
            let mut params = CertificateParams::new(vec![name.to_owned()]).unwrap();
            params.distinguished_name.push(DnType::CommonName, name);
            params
        };
        let authority = |name| {
            let mut params = named(name);
            params.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
            (params, KeyPair::generate().unwrap())
        };
        let (params, key) = authority("root");
        let root = CertifiedIssuer::self_signed(params, key).unwrap();
        let (params, key) = authority("intermediate");
        let intermediate = CertifiedIssuer::signed_by(params, key, &root).unwrap();
        let key = KeyPair::generate().unwrap();
        let own = named("localhost").signed_by(&key, &intermediate).unwrap();
        let certificate = own.pem() + intermediate.pem().as_str();
        Self { der: root.der().clone(), certificate, key: key.serialize_pem() }
    }

    /// Writes the certificate and the key into `folder`. Returns the paths of these two files.
    pub(crate) fn write(&self, folder: &Path) -> [String; 2] {
        [("cert.pem", &self.certificate), ("key.pem", &self.key)].map(|(name, text)| {
            let path = folder.join(name);
            fs::write(&path, text).unwrap();
            path.to_str().unwrap().to_owned()
        })
    }
}

impl Launch {
    /// Serves HTTPS with this certificate.
    pub(crate) fn tls(self, [certificate, key]: &[String; 2]) -> Self {
        self.flag("--tls-cert", certificate).flag("--tls-key", key)
    }
}

/// A TLS connection.
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
        // The client prefers the suites that a server should choose last.
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

    /// Returns the protocol that the server has chosen.
    pub(crate) fn protocol(&self) -> String {
        String::from_utf8(self.0.conn.alpn_protocol().unwrap_or_default().to_vec()).unwrap()
    }

    /// Returns the cipher suite that the server has chosen.
    pub(crate) fn cipher_suite(&self) -> Option<CipherSuite> {
        self.0.conn.negotiated_cipher_suite().map(|suite| suite.suite())
    }

    /// Returns the client's own address.
    pub(crate) fn local_address(&self) -> SocketAddr {
        self.0.sock.local_addr().unwrap()
    }

    pub(crate) fn send(&mut self, bytes: impl AsRef<[u8]>) {
        self.0.write_all(bytes.as_ref()).unwrap();
        self.0.flush().unwrap();
    }

    /// Reads `length` bytes from the server.
    pub(crate) fn read(&mut self, length: usize) -> Vec<u8> {
        let mut bytes = vec![0; length];
        self.0.read_exact(&mut bytes).unwrap();
        bytes
    }

    /// Sends a request over HTTP/1.1. Returns the status line and the body.
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
