//! Where requests go: address, credentials, and whom TLS trusts.

use std::fmt;
use std::path::PathBuf;
use std::sync::Arc;

use futures_rustls::TlsConnector;
use futures_rustls::pki_types::pem::PemObject;
use futures_rustls::pki_types::{CertificateDer, ServerName};
use futures_rustls::rustls::crypto::ring;
use futures_rustls::rustls::{ClientConfig, RootCertStore};
use hyper::Uri;
use hyper::header::HeaderValue;

/// Most bytes of a base URL.
pub const URL_BYTES_MAX: usize = 2_048;

/// Most certificates read from the extra file.
pub const EXTRA_ROOTS_MAX: usize = 1_024;

/// Certificates trusted beside the built-in ones of webpki-roots.
#[derive(Clone, Debug, Default)]
pub struct TlsRoots {
    /// A PEM file (`SSL_CERT_FILE`), if any.
    pub extra_file: Option<PathBuf>,
}

/// An endpoint that requests can be sent to. Never shows its key.
#[derive(Clone)]
pub struct Endpoint {
    /// Name or address to connect to.
    pub(super) host: String,
    /// Port to connect to.
    pub(super) port: u16,
    /// Value of the `Host` header.
    pub(super) authority: HeaderValue,
    /// Path of the chat completions.
    pub(super) path: String,
    /// Set for `https`.
    pub(super) tls: Option<Tls>,
    /// Value of the `Authorization` header.
    pub(super) authorization: Option<HeaderValue>,
    key: Option<String>,
}

/// What a TLS connection needs.
#[derive(Clone)]
pub(super) struct Tls {
    pub(super) connector: TlsConnector,
    pub(super) server_name: ServerName<'static>,
}

/// Why an endpoint cannot be used. Each says what to change.
#[derive(Debug, thiserror::Error)]
pub enum EndpointError {
    /// The base URL is not usable.
    #[error("base_url `{url}` {problem}; write it like http://127.0.0.1:8080/v1")]
    Url {
        /// The URL, or its beginning.
        url: String,
        /// What is wrong.
        problem: &'static str,
    },
    /// The key cannot stand in a header.
    #[error(
        "the key has characters that no HTTP header can carry; copy it again without line ends"
    )]
    Key,
    /// The extra certificates cannot be used.
    #[error("SSL_CERT_FILE `{}`: {problem}; name a PEM file with certificates", file.display())]
    Roots {
        /// The file.
        file: PathBuf,
        /// What is wrong.
        problem: String,
    },
}

impl Endpoint {
    /// The endpoint at `base_url`, to which `/chat/completions` is added.
    ///
    /// # Errors
    /// [`EndpointError`] when URL, key or certificates cannot be used.
    pub fn new(base_url: &str, key: Option<&str>, roots: &TlsRoots) -> Result<Self, EndpointError> {
        let problem = |problem| EndpointError::Url { url: shown(base_url), problem };
        let url = parse(base_url).map_err(problem)?;
        let is_https = url.scheme_str() == Some("https");
        let authority = url.authority().ok_or_else(|| problem("has no host"))?;
        // The brackets of an IPv6 address belong to the URL, not to the address.
        let host = authority.host().trim_start_matches('[').trim_end_matches(']').to_owned();
        let tls = match is_https {
            true => Some(tls(&host, roots, problem)?),
            false => None,
        };
        Ok(Self {
            port: authority.port_u16().unwrap_or(if is_https { 443 } else { 80 }),
            authority: HeaderValue::from_str(authority.as_str())
                .map_err(|_| problem("has no usable host"))?,
            path: format!("{}/chat/completions", url.path().trim_end_matches('/')),
            authorization: key.map(bearer).transpose()?,
            key: key.map(str::to_owned),
            host,
            tls,
        })
    }

    /// The text without the key, for the diagnostic log: providers repeat a refused key.
    pub(super) fn redact(&self, text: &str) -> String {
        match self.key.as_deref().map(str::trim) {
            Some(key) if !key.is_empty() => text.replace(key, "[key]"),
            Some(_) | None => text.to_owned(),
        }
    }
}

impl fmt::Debug for Endpoint {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Endpoint")
            .field("host", &self.host)
            .field("port", &self.port)
            .field("path", &self.path)
            .field("tls", &self.tls.is_some())
            .field("has_key", &self.key.is_some())
            .finish_non_exhaustive()
    }
}

fn parse(base_url: &str) -> Result<Uri, &'static str> {
    if base_url.len() > URL_BYTES_MAX {
        return Err("is longer than 2048 bytes");
    }
    if base_url.contains('#') {
        return Err("must have no fragment (#)");
    }
    let url: Uri = base_url.parse().map_err(|_| "is not a URL")?;
    match url.scheme_str() {
        Some("http" | "https") => {}
        Some(_) | None => return Err("must begin with http:// or https://"),
    }
    let authority = url.authority().ok_or("has no host")?;
    if authority.as_str().contains('@') {
        return Err("must have no user name or password; use key_env for the key");
    }
    if authority.host().is_empty() {
        return Err("has no host");
    }
    let has_port = authority.as_str().len() > authority.host().len();
    if has_port && authority.port_u16().is_none_or(|port| port == 0) {
        return Err("has no usable port");
    }
    if url.query().is_some() {
        return Err("must have no query (?)");
    }
    Ok(url)
}

/// What a message may show of a URL: never a password in it, and not all of a long one.
fn shown(base_url: &str) -> String {
    let without_user = match base_url.rsplit_once('@') {
        Some((_, rest)) => format!("…@{rest}"),
        None => base_url.to_owned(),
    };
    without_user.chars().take(128).collect()
}

fn bearer(key: &str) -> Result<HeaderValue, EndpointError> {
    // A key read from a file often ends in a line feed.
    let mut value =
        HeaderValue::from_str(&format!("Bearer {}", key.trim())).map_err(|_| EndpointError::Key)?;
    value.set_sensitive(true);
    Ok(value)
}

fn tls(
    host: &str,
    roots: &TlsRoots,
    problem: impl Fn(&'static str) -> EndpointError,
) -> Result<Tls, EndpointError> {
    let server_name =
        ServerName::try_from(host.to_owned()).map_err(|_| problem("has no valid host name"))?;
    let mut store = RootCertStore { roots: webpki_roots::TLS_SERVER_ROOTS.to_vec() };
    add_extra_roots(&mut store, roots)?;
    let mut config = ClientConfig::builder_with_provider(Arc::new(ring::default_provider()))
        .with_safe_default_protocol_versions()
        .expect("the ring provider supports TLS 1.2 and 1.3")
        .with_root_certificates(store)
        .with_no_client_auth();
    config.alpn_protocols = vec![b"http/1.1".to_vec()];
    Ok(Tls { connector: TlsConnector::from(Arc::new(config)), server_name })
}

fn add_extra_roots(store: &mut RootCertStore, roots: &TlsRoots) -> Result<(), EndpointError> {
    let Some(file) = &roots.extra_file else { return Ok(()) };
    let failed = |problem: String| EndpointError::Roots { file: file.clone(), problem };
    let certificates =
        CertificateDer::pem_file_iter(file).map_err(|error| failed(error.to_string()))?;
    let mut count = 0;
    for certificate in certificates {
        let certificate = certificate.map_err(|error| failed(error.to_string()))?;
        store.add(certificate).map_err(|error| failed(error.to_string()))?;
        count += 1;
        if count > EXTRA_ROOTS_MAX {
            return Err(failed(format!("it has more than {EXTRA_ROOTS_MAX} certificates")));
        }
    }
    if count == 0 {
        return Err(failed("it has no certificate".into()));
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn endpoint(url: &str) -> Result<Endpoint, EndpointError> {
        Endpoint::new(url, None, &TlsRoots::default())
    }

    #[test]
    fn a_url_gives_host_port_and_path() {
        for (url, host, port, path) in [
            ("http://localhost", "localhost", 80, "/chat/completions"),
            ("http://127.0.0.1:8080/v1", "127.0.0.1", 8080, "/v1/chat/completions"),
            ("http://[::1]:8080/v1/", "::1", 8080, "/v1/chat/completions"),
            ("https://api.example.com/v1", "api.example.com", 443, "/v1/chat/completions"),
        ] {
            let endpoint = endpoint(url).unwrap();
            assert_eq!((endpoint.host.as_str(), endpoint.port), (host, port), "{url}");
            assert_eq!(endpoint.path, path, "{url}");
            assert_eq!(endpoint.tls.is_some(), url.starts_with("https"), "{url}");
        }
    }

    #[test]
    fn a_url_that_cannot_work_is_refused_with_its_reason() {
        for (url, part) in [
            ("", "is not a URL"),
            ("localhost:8080", "http://"),
            ("ftp://host/", "must begin with"),
            ("/v1", "must begin with"),
            ("http://host:0/v1", "port"),
            ("http://host:99999/v1", "no usable port"),
            ("http://host/v1?x=1", "no query"),
            ("http://host/v1#x", "no fragment"),
            ("http://user:secret@host/v1", "no user name"),
        ] {
            let error = endpoint(url).unwrap_err().to_string();
            assert!(error.contains(part), "{url}: {error}");
            assert!(!error.contains("secret"), "{error}");
        }
        let path_of = |bytes: usize| format!("http://h/{}", "x".repeat(bytes - "http://h/".len()));
        assert!(endpoint(&path_of(URL_BYTES_MAX - 1)).is_ok());
        assert!(endpoint(&path_of(URL_BYTES_MAX)).is_ok());
        assert!(endpoint(&path_of(URL_BYTES_MAX + 1)).is_err());
    }

    #[test]
    fn the_key_is_never_shown() {
        let roots = TlsRoots::default();
        let endpoint = Endpoint::new("http://h", Some("sk-secret\n"), &roots).unwrap();
        assert_eq!(endpoint.authorization.as_ref().unwrap(), "Bearer sk-secret");
        assert!(!format!("{endpoint:?}{:?}", endpoint.authorization).contains("secret"));
        assert_eq!(endpoint.redact("bad key sk-secret!"), "bad key [key]!");
        let error = Endpoint::new("http://h", Some("sk\nsecret"), &roots).unwrap_err();
        assert!(!error.to_string().contains("secret"));
    }

    #[test]
    fn extra_certificates_must_be_there() {
        let directory = tempfile::tempdir().unwrap();
        let empty = directory.path().join("empty.pem");
        std::fs::write(&empty, "nothing").unwrap();
        for (file, part) in
            [(empty, "no certificate"), (directory.path().join("absent.pem"), "absent.pem")]
        {
            let roots = TlsRoots { extra_file: Some(file) };
            let error = Endpoint::new("https://h", None, &roots).unwrap_err().to_string();
            assert!(error.contains(part), "{error}");
            assert!(Endpoint::new("http://h", None, &roots).is_ok(), "read for https only");
        }
    }
}
