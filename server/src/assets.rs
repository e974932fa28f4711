//! The operator page, embedded in the binary (WEB-1), ready to be sent.

use std::borrow::Cow;
use std::collections::BTreeMap;
use std::io::{self, Write};

use bytes::Bytes;
use flate2::Compression;
use flate2::write::GzEncoder;
use rust_embed::RustEmbed;
use sha2::{Digest, Sha256};

/// Smallest body that is compressed (WEB-6).
pub const GZIP_BYTES_MIN: usize = 500;

/// Compression level, of 9.
pub const GZIP_LEVEL: u32 = 6;

/// The document served for `/`.
pub const INDEX: &str = "index.html";

/// Where the document carries the build id.
pub const BUILD_MARK: &str = "__RUNWARDEN_BUILD__";

/// Every asset, by its path without a leading slash.
#[derive(Debug)]
pub struct Assets {
    files: BTreeMap<String, Asset>,
    build: String,
}

/// One file of the page.
#[derive(Clone, Debug)]
pub struct Asset {
    /// Its media type, with the charset of texts.
    pub media_type: &'static str,
    /// The bytes as they are.
    pub plain: Bytes,
    /// The same with gzip, where the encoding is negotiable (WEB-6).
    pub gzip: Option<Bytes>,
    /// Weak entity tag; it names both encodings.
    pub etag: String,
}

impl Assets {
    /// Loads the embedded files and compresses what may be compressed.
    ///
    /// # Panics
    /// When the binary was built without its page.
    pub fn load() -> Self {
        let files: Vec<_> = Embedded::iter()
            .filter(|path| !path.split('/').any(|part| part.starts_with('.')))
            .map(|path| {
                let file = Embedded::get(&path).expect("the path comes from the list of files");
                (path.into_owned(), file.data)
            })
            .collect();
        let assets = Self::of(files);
        assert!(assets.get(INDEX).is_some(), "the page is embedded at build time");
        assets
    }

    /// The asset with this path.
    pub fn get(&self, path: &str) -> Option<&Asset> {
        self.files.get(path)
    }

    /// All assets with their paths.
    pub fn iter(&self) -> impl Iterator<Item = (&str, &Asset)> {
        self.files.iter().map(|(path, asset)| (path.as_str(), asset))
    }

    /// Version and content of this build: `0.1.0+` and 12 hex digits that change with any asset. The page
    /// sends it as `client_build`, and `welcome` names it (WEB-16).
    pub fn build(&self) -> &str {
        &self.build
    }

    fn of(mut files: Vec<(String, Cow<'static, [u8]>)>) -> Self {
        files.sort();
        let build = build_id(&files);
        let files = files
            .into_iter()
            .map(|(path, data)| {
                let data = if path == INDEX { with_build(&data, &build) } else { data.into() };
                let asset = asset(&path, data);
                (path, asset)
            })
            .collect();
        Self { files, build }
    }
}

/// Whether a media type may be compressed (WEB-6).
pub fn is_compressible(media_type: &str) -> bool {
    let essence = media_type.split(';').next().unwrap_or_default().trim().to_ascii_lowercase();
    let is_text = essence.starts_with("text/") && essence != "text/event-stream";
    let is_structured = essence.ends_with("+json") || essence == "image/svg+xml";
    is_text || is_structured || matches!(&*essence, "application/json" | "application/javascript")
}

#[derive(RustEmbed)]
#[folder = "assets"]
struct Embedded;

fn build_id(files: &[(String, Cow<'static, [u8]>)]) -> String {
    let mut hasher = Sha256::new();
    for (path, data) in files {
        hasher.update(path.as_bytes());
        hasher.update([0]);
        hasher.update(Sha256::digest(data));
    }
    format!("{}+{}", env!("CARGO_PKG_VERSION"), hex(&hasher.finalize()[..6]))
}

fn with_build(document: &[u8], build: &str) -> Vec<u8> {
    String::from_utf8_lossy(document).replace(BUILD_MARK, build).into_bytes()
}

fn asset(path: &str, data: Vec<u8>) -> Asset {
    let media_type = media_type(path);
    let etag = format!("W/\"{}\"", hex(&Sha256::digest(&data)[..16]));
    let is_negotiable = data.len() >= GZIP_BYTES_MIN && is_compressible(media_type);
    let gzip = is_negotiable
        .then(|| compress(&data).expect("writing to memory does not fail"))
        .map(Bytes::from);
    Asset { media_type, plain: data.into(), gzip, etag }
}

fn compress(data: &[u8]) -> io::Result<Vec<u8>> {
    let mut encoder = GzEncoder::new(Vec::new(), Compression::new(GZIP_LEVEL));
    encoder.write_all(data)?;
    encoder.finish()
}

fn media_type(path: &str) -> &'static str {
    match path.rsplit_once('.').map(|(_, extension)| extension) {
        Some("html") => "text/html; charset=utf-8",
        Some("js" | "mjs") => "text/javascript; charset=utf-8",
        Some("css") => "text/css; charset=utf-8",
        Some("json") => "application/json",
        Some("webmanifest") => "application/manifest+json",
        Some("svg") => "image/svg+xml",
        Some("png") => "image/png",
        Some("ico") => "image/x-icon",
        Some("woff2") => "font/woff2",
        Some("txt" | "md") => "text/plain; charset=utf-8",
        Some(_) | None => "application/octet-stream",
    }
}

fn hex(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}

#[cfg(test)]
mod tests {
    use std::io::Read;

    use super::*;

    fn assets(files: &[(&str, &[u8])]) -> Assets {
        let own = |(path, data): &(&str, &[u8])| ((*path).to_owned(), Cow::Owned(data.to_vec()));
        Assets::of(files.iter().map(own).collect())
    }

    #[test]
    fn the_build_id_changes_with_any_asset() {
        let build = |files| assets(files).build().to_owned();
        let first = build(&[("index.html", b"a"), ("b.js", b"b")]);
        assert!(first.starts_with(concat!(env!("CARGO_PKG_VERSION"), "+")), "{first}");
        assert_eq!(first, build(&[("b.js", b"b"), ("index.html", b"a")]));
        assert_ne!(first, build(&[("index.html", b"a"), ("b.js", b"c")]));
        assert_ne!(first, build(&[("index.html", b"a"), ("c.js", b"b")]));
    }

    #[test]
    fn the_document_carries_the_build_id() {
        let assets = assets(&[(INDEX, b"<meta content=\"__RUNWARDEN_BUILD__\">")]);
        let expected = format!("<meta content=\"{}\">", assets.build());
        assert_eq!(assets.get(INDEX).unwrap().plain, expected);
    }

    #[test]
    fn what_is_compressed_depends_on_type_and_size() {
        let (large, small) = (vec![b'x'; GZIP_BYTES_MIN], vec![b'x'; GZIP_BYTES_MIN - 1]);
        let assets = assets(&[("a.js", &large), ("b.js", &small), ("c.woff2", &large)]);
        let gzip = assets.get("a.js").unwrap().gzip.clone().unwrap();
        let mut back = Vec::new();
        flate2::read::GzDecoder::new(&gzip[..]).read_to_end(&mut back).unwrap();
        assert_eq!(back, large);
        assert!(assets.get("b.js").unwrap().gzip.is_none());
        assert!(assets.get("c.woff2").unwrap().gzip.is_none());
        for (media_type, is_fine) in [
            ("TEXT/Plain", true),
            ("text/event-stream; charset=utf-8", false),
            ("application/json", true),
            ("application/manifest+json", true),
            ("image/svg+xml", true),
            ("image/png", false),
            ("application/octet-stream", false),
        ] {
            assert_eq!(is_compressible(media_type), is_fine, "{media_type}");
        }
    }

    #[test]
    fn the_embedded_page_is_complete() {
        let assets = Assets::load();
        let index = &assets.get(INDEX).unwrap().plain;
        let index = std::str::from_utf8(index).unwrap();
        assert!(index.contains(assets.build()) && !index.contains(BUILD_MARK));
        for (path, asset) in assets.iter() {
            assert_ne!(asset.media_type, "application/octet-stream", "{path} has a known type");
        }
    }
}
