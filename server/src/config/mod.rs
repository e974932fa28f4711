//! What the operator wants: flags, then the configuration file, then defaults.

mod file;
mod limits;
mod values;

use std::collections::BTreeSet;
use std::ffi::OsString;
use std::io::{self, Read};
use std::net::{Ipv4Addr, SocketAddr};
use std::path::{Path, PathBuf};

use ipnet::IpNet;

use crate::agents::AgentConfig;
use crate::auth::{PrincipalEntry, Role, TokenHash};
use crate::cli::ServeArgs;
use crate::state_dir::{StateDirError, default_path};
use file::File;
pub use limits::Limits;
pub use values::PublicUrl;

/// Where the server listens when nothing else is said.
pub const LISTEN_DEFAULT: SocketAddr =
    SocketAddr::new(std::net::IpAddr::V4(Ipv4Addr::LOCALHOST), 8787);

/// Name of the configuration file in the state directory.
pub const FILE_NAME: &str = "runwarden.toml";

/// Largest configuration file that is read.
pub const FILE_BYTES_MAX: u64 = 1_048_576;

/// Name of the principal that holds the token of `--token`, or the generated one.
pub const OPERATOR: &str = "operator";

/// Longest token `--token` takes.
pub const TOKEN_BYTES_MAX: usize = 512;

/// Most principals, and most trusted proxies, a configuration may list.
pub const ENTRIES_MAX: usize = 1_024;

/// The settings in force.
#[derive(Clone, Debug)]
pub struct Settings {
    /// Where to listen; port 0 picks a free one.
    pub listen: SocketAddr,
    /// The state directory. It may not exist yet.
    pub state: PathBuf,
    /// How browsers reach the server, when that is not the listen address (EDGE-1).
    pub public_url: Option<PublicUrl>,
    /// Peers whose `X-Forwarded-*` headers count (EDGE-3).
    pub trusted_proxies: Vec<IpNet>,
    /// Configured principals, `--token` included. Empty: a token is generated and kept.
    pub principals: Vec<PrincipalEntry>,
    /// Configured agents. Empty: the built-in demo agent.
    pub agents: Vec<AgentConfig>,
    /// Agent of sessions that name none.
    pub default_agent: Option<String>,
    /// Limits that can be changed.
    pub limits: Limits,
    /// Whether to write the records file.
    pub record: bool,
}

/// Why the settings cannot be used. Each says where, and what to do.
#[derive(Debug, thiserror::Error)]
pub enum ConfigError {
    /// The file cannot be read.
    #[error("cannot read the configuration {}: {source}", path.display())]
    Unreadable {
        /// The file.
        path: PathBuf,
        /// Why.
        source: io::Error,
    },
    /// The file is not TOML, has an unknown key, or a value of the wrong type or range.
    #[error("{}:{line}: {}{message}", path.display(), of_key(key))]
    Invalid {
        /// The file.
        path: PathBuf,
        /// The line, counted from 1.
        line: usize,
        /// Path of the key, empty when the file is not TOML.
        key: String,
        /// What is wrong.
        message: String,
    },
    /// The values are each fine, but not together.
    #[error("{}: {message}", path.display())]
    Contradiction {
        /// The file.
        path: PathBuf,
        /// What is wrong and what to change.
        message: String,
    },
    /// `--token` cannot be sent in a header.
    #[error(
        "--token must have 1 to {TOKEN_BYTES_MAX} visible ASCII characters and no space; \
         leave it out to get a generated one"
    )]
    Token,
    /// No state directory is named, and there is no default place.
    #[error(transparent)]
    State(#[from] StateDirError),
    /// Other machines could reach the server without a configured token (PRIN-10).
    #[error(
        "{listen} can be reached from other machines, and no token is configured: give --token T or \
         a [[principal]] in the configuration, or listen on 127.0.0.1"
    )]
    OpenToOthers {
        /// The refused address.
        listen: SocketAddr,
    },
}

/// Puts flags, configuration file and defaults together. `environment` looks up a variable.
///
/// # Errors
/// [`ConfigError`] names what is wrong and what to do; the process should exit with 2.
pub fn resolve(
    args: ServeArgs,
    environment: &dyn Fn(&str) -> Option<OsString>,
) -> Result<Settings, ConfigError> {
    let settings = examine(args, environment)?;
    if !settings.listen.ip().is_loopback() && settings.principals.is_empty() {
        return Err(ConfigError::OpenToOthers { listen: settings.listen });
    }
    Ok(settings)
}

/// As [`resolve`], for somebody who only looks and opens no port.
///
/// # Errors
/// As [`resolve`], but for an address that is open to others.
pub fn examine(
    args: ServeArgs,
    environment: &dyn Fn(&str) -> Option<OsString>,
) -> Result<Settings, ConfigError> {
    if args.token.as_deref().is_some_and(|token| !is_usable(token)) {
        return Err(ConfigError::Token);
    }
    let (file, path) = match &args.config {
        Some(path) => (read_file(path)?, path.clone()),
        None => read_default(&state_without_file(&args, environment)?)?,
    };
    let state = match (&args.state, &file.state) {
        (Some(flag), _) => flag.clone(),
        (None, Some(of_file)) => path.parent().unwrap_or(Path::new(".")).join(of_file),
        (None, None) => state_without_file(&args, environment)?,
    };
    check_principals(&file, &path)?;
    Ok(Settings {
        listen: args.listen.or(file.listen.map(|listen| listen.0)).unwrap_or(LISTEN_DEFAULT),
        state,
        public_url: file.public_url,
        trusted_proxies: file.trusted_proxies.into_iter().map(|proxy| proxy.0).collect(),
        principals: with_operator(file.principal, args.token.as_deref()),
        agents: file.agent,
        default_agent: args.agent,
        limits: file.limits,
        record: args.record,
    })
}

fn of_key(key: &str) -> String {
    if key.is_empty() { String::new() } else { format!("`{key}`: ") }
}

fn is_usable(token: &str) -> bool {
    (1..=TOKEN_BYTES_MAX).contains(&token.len()) && token.bytes().all(|b| b.is_ascii_graphic())
}

fn state_without_file(
    args: &ServeArgs,
    environment: &dyn Fn(&str) -> Option<OsString>,
) -> Result<PathBuf, ConfigError> {
    match &args.state {
        Some(state) => Ok(state.clone()),
        None => Ok(default_path(environment("XDG_STATE_HOME"), environment("HOME"))?),
    }
}

/// The file of the state directory, if there is one. It cannot move the directory it is in.
fn read_default(state: &Path) -> Result<(File, PathBuf), ConfigError> {
    let path = state.join(FILE_NAME);
    match read_file(&path) {
        Ok(file) if file.state.is_some() => {
            let message = "`state` cannot be set in the file of the state directory itself: remove \
                           it, or name the file with --config";
            Err(ConfigError::Contradiction { path, message: message.to_owned() })
        }
        Ok(file) => Ok((file, path)),
        Err(ConfigError::Unreadable { source, .. }) if is_absent(&source) => {
            Ok((File::default(), path))
        }
        Err(error) => Err(error),
    }
}

/// Whether there is no such file. A state directory that is a file itself is told when it is opened.
fn is_absent(error: &io::Error) -> bool {
    matches!(error.kind(), io::ErrorKind::NotFound | io::ErrorKind::NotADirectory)
}

fn read_file(path: &Path) -> Result<File, ConfigError> {
    let unreadable = |source| ConfigError::Unreadable { path: path.to_owned(), source };
    let mut text = String::new();
    let file = std::fs::File::open(path).map_err(unreadable)?;
    file.take(FILE_BYTES_MAX + 1).read_to_string(&mut text).map_err(unreadable)?;
    if text.len() as u64 > FILE_BYTES_MAX {
        let message = format!("the file is larger than {FILE_BYTES_MAX} bytes");
        return Err(ConfigError::Contradiction { path: path.to_owned(), message });
    }
    file::parse(&text).map_err(|fault| ConfigError::Invalid {
        path: path.to_owned(),
        line: fault.line,
        key: fault.key,
        message: fault.message,
    })
}

/// Names and tokens are unique (PRIN-1).
fn check_principals(file: &File, path: &Path) -> Result<(), ConfigError> {
    let contradiction = |message| ConfigError::Contradiction { path: path.to_owned(), message };
    for (key, count) in
        [("principal", file.principal.len()), ("trusted_proxies", file.trusted_proxies.len())]
    {
        if count > ENTRIES_MAX {
            return Err(contradiction(format!("`{key}` has more than {ENTRIES_MAX} entries")));
        }
    }
    let (mut names, mut hashes) = (BTreeSet::new(), BTreeSet::new());
    for principal in &file.principal {
        let name = &principal.name.0;
        if !names.insert(name) {
            return Err(contradiction(format!(
                "`principal`: two are named `{name}`; give each its own name"
            )));
        }
        if !hashes.insert(principal.token_sha256.0) {
            return Err(contradiction(format!(
                "`principal`: `{name}` has the same token as another; give each its own token"
            )));
        }
    }
    Ok(())
}

/// `--token` is the token of [`OPERATOR`], whatever the file says of that principal.
fn with_operator(listed: Vec<file::Principal>, token: Option<&str>) -> Vec<PrincipalEntry> {
    let mut entries: Vec<_> = listed
        .into_iter()
        .filter(|principal| token.is_none() || principal.name.0 != OPERATOR)
        .map(|principal| PrincipalEntry {
            name: principal.name.0,
            token_hash: TokenHash::from_bytes(principal.token_sha256.0),
            role: principal.role,
        })
        .collect();
    entries.extend(token.map(|token| PrincipalEntry {
        name: OPERATOR.to_owned(),
        token_hash: TokenHash::of(token),
        role: Role::Owner,
    }));
    entries
}

#[cfg(test)]
mod tests;
