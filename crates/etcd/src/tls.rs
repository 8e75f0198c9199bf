//! TLS connections to the nodes, by rustls.

use std::sync::Arc;

use hyper_rustls::{HttpsConnector, HttpsConnectorBuilder};
use hyper_util::client::legacy::connect::HttpConnector;
use petstore_storage::tls::{TlsFailure, roots};
use rustls::{
    ClientConfig, RootCertStore,
    crypto::ring,
    pki_types::{
        CertificateDer, PrivateKeyDer,
        pem::{Error as PemError, PemObject as _},
    },
};

use crate::{config::EtcdConfig, error::Reason};

/// Returns a connector that encrypts if `sslmode` requires it.
pub(crate) fn connector(config: &EtcdConfig) -> Result<HttpsConnector<HttpConnector>, Reason> {
    let mut tcp = HttpConnector::new();
    tcp.enforce_http(false);
    tcp.set_nodelay(true);
    tcp.set_connect_timeout(Some(config.connect_timeout));
    let builder = HttpsConnectorBuilder::new().with_tls_config(client(config)?);
    Ok(builder.https_or_http().enable_http1().wrap_connector(tcp))
}

fn client(config: &EtcdConfig) -> Result<ClientConfig, Reason> {
    let builder = ClientConfig::builder_with_provider(Arc::new(ring::default_provider()))
        .with_safe_default_protocol_versions()
        .map_err(TlsFailure::from)?;
    let roots = || roots(config.root_certificates.as_deref());
    let trusted = config.is_encrypted.then(roots).transpose()?;
    let builder = builder.with_root_certificates(trusted.unwrap_or_else(RootCertStore::empty));
    let Some((certificate, key)) = config.certificate.as_deref().zip(config.key.as_deref()) else {
        return Ok(builder.with_no_client_auth());
    };
    let chain = CertificateDer::pem_file_iter(certificate)
        .and_then(Iterator::collect::<Result<Vec<_>, PemError>>)
        .map_err(|error| TlsFailure::of_file("sslcert", certificate, error))?;
    let secret = PrivateKeyDer::from_pem_file(key)
        .map_err(|error| TlsFailure::of_file("sslkey", key, error))?;
    let mismatch = |_| Reason::Key(key.display().to_string());
    builder.with_client_auth_cert(chain, secret).map_err(mismatch)
}
