//! How an operator names and sets up agents.

use std::collections::BTreeMap;
use std::path::PathBuf;

use serde::Deserialize;

use super::acp::CommandError;
use super::openai::EndpointError;

/// One `[[agent]]` of the configuration file.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct AgentConfig {
    /// Name, unique, 1 to 64 characters.
    pub name: String,
    /// Label shown to people, at most 80 characters; the name when left out.
    #[serde(default)]
    pub label: Option<String>,
    /// What kind of agent.
    pub kind: AgentKind,
    /// Of `openai`: the endpoint up to but without `/chat/completions`, for instance
    /// `http://127.0.0.1:8080/v1`.
    #[serde(default)]
    pub base_url: Option<String>,
    /// The model used when a session names none. Of `openai`: left out, the first of `models`. Of `acp`:
    /// the id or name of one that the agent offers; left out, the agent decides.
    #[serde(default)]
    pub model: Option<String>,
    /// Of `openai`: the models people may choose from.
    #[serde(default)]
    pub models: Vec<String>,
    /// Of `openai`: name of the environment variable that holds the key. Without it no key is sent.
    #[serde(default)]
    pub key_env: Option<String>,
    /// Of `acp`: the id or name of the mode a session begins in; left out, the agent decides.
    #[serde(default)]
    pub mode: Option<String>,
    /// Of `acp`: the program, looked up in `PATH` unless it contains a `/`.
    #[serde(default)]
    pub command: Option<String>,
    /// Of `acp`: its arguments.
    #[serde(default)]
    pub args: Vec<String>,
    /// Of `acp`: variables set beside the environment of the server.
    #[serde(default)]
    pub env: BTreeMap<String, String>,
    /// Of `acp`: the directory it works in; left out, the current directory of the server.
    #[serde(default)]
    pub cwd: Option<PathBuf>,
}

/// Kinds of agent.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum AgentKind {
    /// The built-in demo agent.
    Demo,
    /// An OpenAI-compatible chat-completions endpoint.
    Openai,
    /// A process that speaks the Agent Client Protocol.
    Acp,
}

impl AgentKind {
    /// Its name in the configuration.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Demo => "demo",
            Self::Openai => "openai",
            Self::Acp => "acp",
        }
    }
}

/// Why the agents of a configuration cannot be made. Each names the agent and what to do.
#[derive(Debug, thiserror::Error)]
pub enum AgentConfigError {
    /// Two agents share a name.
    #[error("agent `{name}` is configured twice; give each [[agent]] its own name")]
    Duplicate {
        /// The name.
        name: String,
    },
    /// A name, label or model is empty or too long.
    #[error("agent `{agent}`: {field} must have 1 to {characters_max} characters")]
    Length {
        /// The agent.
        agent: String,
        /// The field.
        field: &'static str,
        /// Most characters it may have.
        characters_max: usize,
    },
    /// A field that the kind needs is missing.
    #[error("agent `{agent}`: an agent of kind `{kind}` needs `{field}`, {hint}")]
    Missing {
        /// The agent.
        agent: String,
        /// Its kind.
        kind: &'static str,
        /// The field.
        field: &'static str,
        /// What to write.
        hint: &'static str,
    },
    /// A field that the kind does not have.
    #[error("agent `{agent}`: `{field}` has no meaning for kind `{kind}`; remove it")]
    Meaningless {
        /// The agent.
        agent: String,
        /// Its kind.
        kind: &'static str,
        /// The field.
        field: &'static str,
    },
    /// `model` is not one of `models`.
    #[error("agent `{agent}`: model `{model}` is not in its `models`; add it there")]
    ForeignModel {
        /// The agent.
        agent: String,
        /// The model.
        model: String,
    },
    /// Too many models.
    #[error("agent `{agent}`: `models` lists more than {models_max} models; shorten it")]
    TooManyModels {
        /// The agent.
        agent: String,
        /// Most models it may list.
        models_max: usize,
    },
    /// Too many agents.
    #[error("more than {agents_max} agents are configured; remove some")]
    TooManyAgents {
        /// Most agents there may be.
        agents_max: usize,
    },
    /// The environment variable with the key is not set.
    #[error(
        "agent `{agent}`: environment variable `{variable}` (key_env) is not set; \
         set it to the key, or remove key_env if the endpoint needs none"
    )]
    KeyNotSet {
        /// The agent.
        agent: String,
        /// The variable.
        variable: String,
    },
    /// The endpoint cannot be used.
    #[error("agent `{agent}`: {source}")]
    Endpoint {
        /// The agent.
        agent: String,
        /// What is wrong with it.
        source: EndpointError,
    },
    /// The command cannot be started.
    #[error("agent `{agent}`: {source}")]
    Command {
        /// The agent.
        agent: String,
        /// What is wrong with it.
        source: CommandError,
    },
    /// The wanted default agent is not configured.
    #[error("no agent is named `{name}`; configured are: {known}")]
    Unknown {
        /// The wanted name.
        name: String,
        /// The configured names, separated by commas.
        known: String,
    },
}
