//! Tokens: their hashes, and the one that is generated when none is configured (PRIN-2).

use std::fmt;
use std::fs::{File, OpenOptions, Permissions};
use std::io::{self, Read, Write};
use std::os::unix::fs::{OpenOptionsExt, PermissionsExt};
use std::path::{Path, PathBuf};

use sha2::{Digest, Sha256};
use subtle::ConstantTimeEq;

const HASH_BYTES: usize = 32;
const HEX_CHARS: u64 = 64;
const MODE: u32 = 0o600;

/// SHA-256 of a token or cookie value. Equality takes the same time wherever the first difference is.
#[derive(Clone, Copy, Eq)]
pub struct TokenHash([u8; HASH_BYTES]);

/// Why the generated token cannot be kept. Each says what to do.
#[derive(Debug, thiserror::Error)]
pub enum TokenFileError {
    /// The file cannot be read or written.
    #[error(
        "cannot keep the token in {}: {source}; make the state directory writable, or choose another \
         one with --state", path.display()
    )]
    Io {
        /// The file.
        path: PathBuf,
        /// Why.
        source: io::Error,
    },
    /// The file does not hold a token.
    #[error("{} does not hold a token: delete it, and a new one is generated", path.display())]
    Damaged {
        /// The file.
        path: PathBuf,
    },
    /// The operating system gives no random numbers.
    #[error("the operating system gives no random numbers: {0}")]
    Entropy(getrandom::Error),
}

impl TokenHash {
    /// The hash of a token.
    pub fn of(token: &str) -> Self {
        Self(Sha256::digest(token.as_bytes()).into())
    }

    /// The hash with these bytes.
    pub const fn from_bytes(bytes: [u8; HASH_BYTES]) -> Self {
        Self(bytes)
    }

    /// The bytes of the hash.
    pub const fn bytes(self) -> [u8; HASH_BYTES] {
        self.0
    }
}

impl PartialEq for TokenHash {
    fn eq(&self, other: &Self) -> bool {
        self.0.ct_eq(&other.0).into()
    }
}

impl fmt::Debug for TokenHash {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("TokenHash(..)")
    }
}

/// Reads the token kept in this file; generates and keeps one the first time. A file that others could read is made private again.
///
/// # Errors
/// [`TokenFileError`] when it can be neither read nor kept.
pub fn load_or_generate(path: &Path) -> Result<String, TokenFileError> {
    let io = |source| TokenFileError::Io { path: path.to_owned(), source };
    match File::open(path) {
        Ok(file) => {
            let token = read(&file).map_err(io)?;
            file.set_permissions(Permissions::from_mode(MODE)).map_err(io)?;
            token.ok_or_else(|| TokenFileError::Damaged { path: path.to_owned() })
        }
        Err(error) if error.kind() == io::ErrorKind::NotFound => {
            let token = random_hex().map_err(TokenFileError::Entropy)?;
            keep(path, &token).map_err(io)?;
            Ok(token)
        }
        Err(error) => Err(io(error)),
    }
}

/// 256 random bits as 64 hex digits.
///
/// # Errors
/// When the operating system gives no random numbers.
pub fn random_hex() -> Result<String, getrandom::Error> {
    let mut bytes = [0; HASH_BYTES];
    getrandom::fill(&mut bytes)?;
    Ok(bytes.iter().map(|byte| format!("{byte:02x}")).collect())
}

/// The bytes of 64 hex digits of either case.
pub(crate) fn bytes_of_hex(text: &str) -> Option<[u8; HASH_BYTES]> {
    if text.len() as u64 != HEX_CHARS || !text.bytes().all(|byte| byte.is_ascii_hexdigit()) {
        return None;
    }
    let mut bytes = [0; HASH_BYTES];
    for (index, byte) in bytes.iter_mut().enumerate() {
        *byte = u8::from_str_radix(&text[2 * index..2 * index + 2], 16).ok()?;
    }
    Some(bytes)
}

fn read(file: &File) -> io::Result<Option<String>> {
    let mut bytes = Vec::new();
    file.take(HEX_CHARS + 2).read_to_end(&mut bytes)?;
    let text = String::from_utf8(bytes).ok();
    Ok(text.map(|t| t.trim_end().to_owned()).filter(|t| bytes_of_hex(t).is_some()))
}

/// Written beside and renamed, so that a crash leaves no half of it.
fn keep(path: &Path, token: &str) -> io::Result<()> {
    let beside = path.with_extension("new");
    let mut options = OpenOptions::new();
    let mut file = options.write(true).create(true).truncate(true).mode(MODE).open(&beside)?;
    file.set_permissions(Permissions::from_mode(MODE))?;
    writeln!(file, "{token}")?;
    file.sync_all()?;
    std::fs::rename(&beside, path)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn mode(path: &Path) -> u32 {
        std::fs::metadata(path).unwrap().permissions().mode() & 0o777
    }

    /// PRIN-2 [unit]: the generated token is kept with mode 0600, read again by the next start, and made
    /// private again when someone opened it; a hash shows nothing of what it was made from.
    #[test]
    fn the_generated_token_is_kept_privately() {
        let state = tempfile::tempdir().unwrap();
        let path = state.path().join("token");
        let token = load_or_generate(&path).unwrap();
        assert_eq!(token.len(), 64);
        assert_eq!(mode(&path), 0o600);
        std::fs::set_permissions(&path, Permissions::from_mode(0o644)).unwrap();
        assert_eq!(load_or_generate(&path).unwrap(), token);
        assert_eq!(mode(&path), 0o600);
        assert_eq!(std::fs::read_dir(state.path()).unwrap().count(), 1);
        assert_eq!(format!("{:?}", TokenHash::of(&token)), "TokenHash(..)");
        assert_ne!(random_hex().unwrap(), random_hex().unwrap());
    }

    #[test]
    fn a_damaged_token_file_is_named_and_kept() {
        let state = tempfile::tempdir().unwrap();
        let path = state.path().join("token");
        let short = "a".repeat(63);
        let long = "a".repeat(65);
        for text in ["", "secret", &short, &long] {
            std::fs::write(&path, text).unwrap();
            let error = load_or_generate(&path).unwrap_err();
            assert!(matches!(error, TokenFileError::Damaged { .. }), "{text}");
            assert!(error.to_string().contains("delete it"));
            assert_eq!(std::fs::read_to_string(&path).unwrap(), text);
        }
    }

    #[test]
    fn a_state_directory_that_is_missing_is_an_error() {
        let error = load_or_generate(Path::new("/nonexistent/token")).unwrap_err();
        assert!(error.to_string().contains("--state"), "{error}");
    }

    #[test]
    fn hex_is_read_exactly() {
        assert_eq!(bytes_of_hex(&"0f".repeat(32)), Some([15; 32]));
        assert_eq!(bytes_of_hex(&"0F".repeat(32)), Some([15; 32]));
        assert_eq!(bytes_of_hex(&"+f".repeat(32)), None);
        assert_eq!(bytes_of_hex(&"0f".repeat(31)), None);
    }
}
