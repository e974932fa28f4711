//! The configuration file as it is written, and where it is wrong.

use std::path::PathBuf;

use serde::Deserialize;

use super::limits::Limits;
use super::values::{Listen, Name, Proxy, PublicUrl, Sha256Hex, StatePath};
use crate::agents::AgentConfig;
use crate::auth::Role;

/// What the file says.
#[derive(Debug, Default)]
pub(super) struct File {
    pub(super) listen: Option<Listen>,
    pub(super) state: Option<PathBuf>,
    pub(super) public_url: Option<PublicUrl>,
    pub(super) trusted_proxies: Vec<Proxy>,
    pub(super) principal: Vec<Principal>,
    pub(super) agent: Vec<AgentConfig>,
    pub(super) limits: Limits,
}

/// One `[[principal]]`.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Principal {
    pub(super) name: Name,
    pub(super) token_sha256: Sha256Hex,
    pub(super) role: Role,
}

/// The first thing that is wrong.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Fault {
    /// Counted from 1.
    pub(super) line: usize,
    /// Path of the key; empty when the text is not TOML.
    pub(super) key: String,
    pub(super) message: String,
}

/// Reads the text of a configuration file.
pub(super) fn parse(text: &str) -> Result<File, Fault> {
    let deserializer = toml::Deserializer::parse(text).map_err(|e| fault(text, "", &e))?;
    serde_path_to_error::deserialize(deserializer)
        .map(|raw: Raw| raw.into())
        .map_err(|error| fault(text, &error.path().to_string(), error.inner()))
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Raw {
    listen: Option<Listen>,
    state: Option<StatePath>,
    public_url: Option<PublicUrl>,
    #[serde(default)]
    trusted_proxies: Vec<Proxy>,
    #[serde(default)]
    principal: Vec<Principal>,
    #[serde(default)]
    agent: Vec<AgentConfig>,
    #[serde(default)]
    limits: Limits,
}

impl From<Raw> for File {
    fn from(raw: Raw) -> Self {
        Self {
            listen: raw.listen,
            state: raw.state.map(|path| path.0),
            public_url: raw.public_url,
            trusted_proxies: raw.trusted_proxies,
            principal: raw.principal,
            agent: raw.agent,
            limits: raw.limits,
        }
    }
}

fn fault(text: &str, path: &str, error: &toml::de::Error) -> Fault {
    let start = error.span().map_or(0, |span| span.start.min(text.len()));
    Fault {
        line: text.as_bytes()[..start].iter().filter(|byte| **byte == b'\n').count() + 1,
        key: if path == "." { String::new() } else { path.to_owned() },
        message: error.message().trim().replace('\n', "; "),
    }
}
