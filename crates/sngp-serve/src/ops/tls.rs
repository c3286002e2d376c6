//! Certificates.

use std::io;
use std::path::Path;
use std::sync::Arc;

use rustls_pki_types::pem::PemObject;
use rustls_pki_types::{CertificateDer, PrivateKeyDer};
use tokio_rustls::TlsAcceptor;
use tokio_rustls::rustls::ServerConfig;
use tokio_rustls::rustls::crypto::ring;

/// Reads a certificate chain and its key, both as PEM files, for a protocol of TLS.
pub fn acceptor(certificate: &Path, key: &Path, protocol: &str) -> io::Result<TlsAcceptor> {
    let unreadable = |path: &Path| {
        let path = path.display().to_string();
        move |error: rustls_pki_types::pem::Error| io::Error::other(format!("{path}: {error}"))
    };
    let chain: Vec<CertificateDer<'static>> = CertificateDer::pem_file_iter(certificate)
        .and_then(Iterator::collect)
        .map_err(unreadable(certificate))?;
    if chain.is_empty() {
        return Err(io::Error::other(format!("{}: no certificate", certificate.display())));
    }
    let secret = PrivateKeyDer::from_pem_file(key).map_err(unreadable(key))?;
    let mut config = ServerConfig::builder_with_provider(Arc::new(ring::default_provider()))
        .with_safe_default_protocol_versions()
        .and_then(|config| config.with_no_client_auth().with_single_cert(chain, secret))
        .map_err(io::Error::other)?;
    config.alpn_protocols = vec![protocol.as_bytes().to_vec()];
    Ok(TlsAcceptor::from(Arc::new(config)))
}
