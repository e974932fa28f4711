//! The agents of this server: what is configured, and the kinds behind the agent port.

pub mod acp;
pub mod config;
pub mod demo;
mod interrupt;
pub mod openai;

use std::collections::BTreeMap;
use std::sync::Arc;

use runwarden_runtime::ports::{AgentFactory, World};

use acp::{AcpCommand, AcpDefaults, AcpFactory, Processes};
pub use config::{AgentConfig, AgentConfigError, AgentKind};
use demo::DemoFactory;
use openai::{Endpoint, Models, OpenAiFactory, TlsRoots};

/// Most agents a configuration may name.
pub const AGENTS_MAX: usize = 64;

/// Most characters of an agent's name.
pub const NAME_CHARS_MAX: usize = 64;

/// Most characters of an agent's label.
pub const LABEL_CHARS_MAX: usize = 80;

/// Most models one agent may offer.
pub const MODELS_MAX: usize = 64;

/// Most characters of a model's name, and of a mode's.
pub const MODEL_CHARS_MAX: usize = 128;

/// The configured agents, at least one.
#[derive(Clone)]
pub struct Agents {
    factories: Vec<Arc<dyn AgentFactory>>,
    default: usize,
    processes: Processes,
}

/// Makes the agents of a configuration; an empty one means a single demo agent. The keys come from
/// the environment of the process.
///
/// # Errors
/// [`AgentConfigError`] says which agent is wrong and what to change.
pub fn build<W: World>(configs: &[AgentConfig], world: &W) -> Result<Agents, AgentConfigError> {
    build_with(configs, world, &|name| std::env::var(name).ok())
}

/// [`build`] with an environment of the caller's choice: `SSL_CERT_FILE` and the keys are read from it.
///
/// # Errors
/// As [`build`].
pub fn build_with<W: World>(
    configs: &[AgentConfig],
    world: &W,
    environment: &dyn Fn(&str) -> Option<String>,
) -> Result<Agents, AgentConfigError> {
    if configs.len() > AGENTS_MAX {
        return Err(AgentConfigError::TooManyAgents { agents_max: AGENTS_MAX });
    }
    let demo = [demo_config()];
    let configs = if configs.is_empty() { &demo } else { configs };
    let processes = Processes::default();
    let mut factories: Vec<Arc<dyn AgentFactory>> = Vec::with_capacity(configs.len());
    for config in configs {
        check_names(config)?;
        check_fields(config)?;
        if factories.iter().any(|known| known.name() == config.name) {
            return Err(AgentConfigError::Duplicate { name: config.name.clone() });
        }
        factories.push(match config.kind {
            AgentKind::Demo => Arc::new(build_demo(config, world)),
            AgentKind::Openai => Arc::new(build_openai(config, world, environment)?),
            AgentKind::Acp => Arc::new(build_acp(config, world, environment, &processes)?),
        });
    }
    Ok(Agents { factories, default: 0, processes })
}

impl Agents {
    /// The agent with this name.
    pub fn get(&self, name: &str) -> Option<&Arc<dyn AgentFactory>> {
        self.factories.iter().find(|factory| factory.name() == name)
    }

    /// The agent of sessions that name none: the first one, or that of [`Agents::with_default`].
    pub fn default_agent(&self) -> &Arc<dyn AgentFactory> {
        &self.factories[self.default]
    }

    /// All agents, in the order of the configuration.
    pub fn iter(&self) -> impl Iterator<Item = &Arc<dyn AgentFactory>> {
        self.factories.iter()
    }

    /// Ends the processes of agents that are left when the server ends; blocks for at most
    /// [`acp::SHUTDOWN_GRACE`].
    pub fn end_processes(&self) {
        self.processes.end_all();
    }

    /// The same agents and one more, which no configuration names: a program that embeds the server brings it.
    #[must_use]
    pub fn with(mut self, factory: Arc<dyn AgentFactory>) -> Self {
        self.factories.push(factory);
        self
    }

    /// The same agents with another default.
    ///
    /// # Errors
    /// [`AgentConfigError::Unknown`] when no agent has the name.
    pub fn with_default(mut self, name: &str) -> Result<Self, AgentConfigError> {
        let names: Vec<&str> = self.iter().map(|factory| factory.name()).collect();
        let Some(position) = names.iter().position(|known| *known == name) else {
            let known = names.join(", ");
            return Err(AgentConfigError::Unknown { name: name.to_owned(), known });
        };
        self.default = position;
        Ok(self)
    }
}

fn demo_config() -> AgentConfig {
    AgentConfig {
        name: "demo".into(),
        label: Some("Demo".into()),
        kind: AgentKind::Demo,
        base_url: None,
        model: None,
        models: Vec::new(),
        key_env: None,
        mode: None,
        command: None,
        args: Vec::new(),
        env: BTreeMap::new(),
        cwd: None,
    }
}

fn label(config: &AgentConfig) -> String {
    config.label.clone().unwrap_or_else(|| config.name.clone())
}

fn check_names(config: &AgentConfig) -> Result<(), AgentConfigError> {
    let names = [("name", Some(&config.name), NAME_CHARS_MAX)];
    let labels = [("label", config.label.as_ref(), LABEL_CHARS_MAX)];
    let model = [("model", config.model.as_ref(), MODEL_CHARS_MAX)];
    let mode = [("mode", config.mode.as_ref(), MODEL_CHARS_MAX)];
    let models = config.models.iter().map(|model| ("models", Some(model), MODEL_CHARS_MAX));
    let fields = names.into_iter().chain(labels).chain(model).chain(mode).chain(models);
    for (field, value, characters_max) in fields {
        let Some(value) = value else { continue };
        if value.trim().is_empty() || value.chars().count() > characters_max {
            let agent = config.name.chars().take(NAME_CHARS_MAX).collect();
            return Err(AgentConfigError::Length { agent, field, characters_max });
        }
    }
    Ok(())
}

/// A field of another kind is a mistake that would otherwise go unnoticed.
fn check_fields(config: &AgentConfig) -> Result<(), AgentConfigError> {
    let of_openai = [
        ("base_url", config.base_url.is_some()),
        ("models", !config.models.is_empty()),
        ("key_env", config.key_env.is_some()),
    ];
    let of_both = [("model", config.model.is_some())];
    let of_acp = [
        ("mode", config.mode.is_some()),
        ("command", config.command.is_some()),
        ("args", !config.args.is_empty()),
        ("env", !config.env.is_empty()),
        ("cwd", config.cwd.is_some()),
    ];
    let (openai, both, acp): (&[_], &[_], &[_]) = match config.kind {
        AgentKind::Demo => (&of_openai, &of_both, &of_acp),
        AgentKind::Openai => (&[], &[], &of_acp),
        AgentKind::Acp => (&of_openai, &[], &[]),
    };
    match openai.iter().chain(both).chain(acp).find(|(_, is_set)| *is_set) {
        Some((field, _)) => Err(AgentConfigError::Meaningless {
            agent: config.name.clone(),
            kind: config.kind.name(),
            field,
        }),
        None => Ok(()),
    }
}

fn build_demo<W: World>(config: &AgentConfig, world: &W) -> DemoFactory<W> {
    DemoFactory::new(config.name.clone(), label(config), world.clone(), demo::PACE)
}

fn build_acp<W: World>(
    config: &AgentConfig,
    world: &W,
    environment: &dyn Fn(&str) -> Option<String>,
    processes: &Processes,
) -> Result<AcpFactory<W>, AgentConfigError> {
    let agent = config.name.clone();
    let Some(command) = &config.command else {
        let hint = "the program that speaks the protocol on its standard input and output";
        return Err(missing(config, "command", hint));
    };
    let search_path = environment("PATH");
    let (args, env) = (config.args.clone(), config.env.clone());
    let command =
        AcpCommand::find(command, args, env, config.cwd.as_deref(), search_path.as_deref())
            .map_err(|source| AgentConfigError::Command { agent: agent.clone(), source })?;
    let defaults = AcpDefaults { model: config.model.clone(), mode: config.mode.clone() };
    let (label, world) = (label(config), world.clone());
    Ok(AcpFactory::new(agent, label, command, defaults, world, processes.clone()))
}

fn missing(config: &AgentConfig, field: &'static str, hint: &'static str) -> AgentConfigError {
    AgentConfigError::Missing { agent: config.name.clone(), kind: config.kind.name(), field, hint }
}

fn build_openai<W: World>(
    config: &AgentConfig,
    world: &W,
    environment: &dyn Fn(&str) -> Option<String>,
) -> Result<OpenAiFactory<W>, AgentConfigError> {
    let agent = config.name.clone();
    let base_url = config.base_url.as_deref().ok_or_else(|| {
        missing(
            config,
            "base_url",
            "the endpoint without /chat/completions, like http://127.0.0.1:8080/v1",
        )
    })?;
    let models = models(config)?
        .ok_or_else(|| missing(config, "model", "the name the endpoint knows its model by"))?;
    let key = match &config.key_env {
        None => None,
        Some(variable) => {
            Some(environment(variable).filter(|key| !key.is_empty()).ok_or_else(|| {
                AgentConfigError::KeyNotSet { agent: agent.clone(), variable: variable.clone() }
            })?)
        }
    };
    let extra = environment("SSL_CERT_FILE").filter(|path| !path.is_empty());
    let roots = TlsRoots { extra_file: extra.map(Into::into) };
    let endpoint = Endpoint::new(base_url, key.as_deref(), &roots)
        .map_err(|source| AgentConfigError::Endpoint { agent: agent.clone(), source })?;
    Ok(OpenAiFactory::new(agent, label(config), models, endpoint, world.clone()))
}

fn models(config: &AgentConfig) -> Result<Option<Models>, AgentConfigError> {
    let agent = config.name.clone();
    if config.models.len() > MODELS_MAX {
        return Err(AgentConfigError::TooManyModels { agent, models_max: MODELS_MAX });
    }
    let Some(default) = config.model.as_ref().or(config.models.first()) else {
        return Ok(None);
    };
    if !config.models.is_empty() && !config.models.contains(default) {
        return Err(AgentConfigError::ForeignModel { agent, model: default.clone() });
    }
    Ok(Some(Models { default: default.clone(), offered: config.models.clone() }))
}
