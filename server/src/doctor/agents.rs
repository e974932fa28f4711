//! Each configured agent, tried without a model call.

use std::sync::Arc;
use std::time::{Duration as Span, Instant as Monotonic};

use futures_lite::future::or;
use runwarden_protocol::instant::Instant;
use runwarden_runtime::ports::agent::FailureKind;
use runwarden_runtime::ports::{AgentContext, AgentFactory, AgentFailure, AgentProfile};
use serde::Serialize;
use smol::{Executor, Timer};

use super::report::Finding;
use crate::agents::{self, AgentConfig, AgentKind, Agents};
use crate::world::SmolWorld;

/// Longest time an agent has to show itself; each kind has a shorter limit of its own.
const TRY_MAX: Span = Span::from_secs(45);

/// One agent.
#[derive(Clone, Debug, Serialize)]
pub(super) struct AgentReport {
    /// Its name.
    pub(super) name: String,
    /// Its kind.
    pub(super) kind: &'static str,
    /// Whether it showed itself.
    pub(super) usable: bool,
    /// How long that took, or how long it was waited for.
    pub(super) took_ms: u64,
    /// What it turned out to be; none of one that is not usable.
    pub(super) profile: Option<Shown>,
    /// What is wrong.
    pub(super) problem: Option<String>,
    /// What to do about it.
    pub(super) advice: Option<String>,
}

/// What an agent declares.
#[derive(Clone, Debug, Serialize)]
pub(super) struct Shown {
    pub(super) label: String,
    pub(super) models: Vec<String>,
    pub(super) default_model: Option<String>,
    pub(super) context: &'static str,
    pub(super) steer: bool,
    pub(super) attachments: bool,
    pub(super) resume: bool,
}

/// Why an agent is not usable.
struct Broken {
    problem: String,
    advice: String,
}

/// Tries all agents at once; without any, the one the server would use.
pub(super) fn examine(configs: &[AgentConfig]) -> Vec<AgentReport> {
    let executor = Arc::new(Executor::new());
    let world = SmolWorld::new(executor.clone(), Instant::ZERO);
    let mut made = Vec::new();
    let mut tries = Vec::new();
    if configs.is_empty() {
        let agents = agents::build(&[], &world).map_err(|error| error.to_string());
        tries.push(begin(&executor, "demo", AgentKind::Demo.name(), agents, None, &mut made));
    }
    for (place, config) in configs.iter().enumerate() {
        let is_doubled = configs[..place].iter().any(|before| before.name == config.name);
        let agents = if is_doubled {
            Err(format!("agent `{}` is configured twice", config.name))
        } else {
            agents::build(std::slice::from_ref(config), &world).map_err(|error| error.to_string())
        };
        let kind = config.kind.name();
        tries.push(begin(&executor, &config.name, kind, agents, Some(config), &mut made));
    }
    let reports = smol::block_on(executor.run(async {
        let mut reports = Vec::with_capacity(tries.len());
        for tried in tries {
            reports.push(tried.await);
        }
        reports
    }));
    made.iter().for_each(Agents::end_processes);
    reports
}

fn begin(
    executor: &Executor<'static>,
    name: &str,
    kind: &'static str,
    agents: Result<Agents, String>,
    config: Option<&AgentConfig>,
    made: &mut Vec<Agents>,
) -> smol::Task<AgentReport> {
    let (name, config) = (name.to_owned(), config.cloned());
    let factory = agents.map(|agents| {
        let factory = agents.default_agent().clone();
        made.push(agents);
        factory
    });
    executor.spawn(async move {
        let begun = Monotonic::now();
        let tried = match factory {
            Ok(factory) => try_out(factory).await.map_err(|failure| Broken {
                problem: failure.detail,
                advice: advice(failure.kind, config.as_ref()),
            }),
            Err(problem) => {
                let advice = "correct its [[agent]] in the configuration".to_owned();
                Err(Broken { problem, advice })
            }
        };
        let took_ms = u64::try_from(begun.elapsed().as_millis()).unwrap_or(u64::MAX);
        AgentReport::new(name, kind, took_ms, tried)
    })
}

async fn try_out(factory: Arc<dyn AgentFactory>) -> Result<AgentProfile, AgentFailure> {
    let late = async {
        Timer::after(TRY_MAX).await;
        let detail = format!("nothing came of it within {} s", TRY_MAX.as_secs());
        Err(AgentFailure { kind: FailureKind::Unreachable, detail })
    };
    or(factory.probe(), late).await
}

/// What helps against a failure of this kind.
fn advice(failure: FailureKind, config: Option<&AgentConfig>) -> String {
    let Some(config) = config else { return "this is a fault of the server: report it".to_owned() };
    let command = config.command.as_deref().unwrap_or_default();
    match (config.kind, failure) {
        (AgentKind::Acp, FailureKind::Unauthorized) => {
            format!("log in once with `{command}`, as the user of the server")
        }
        (AgentKind::Acp, _) => format!(
            "start `{command}` in a shell with the same arguments and see what it says; with \
             RUNWARDEN_LOG=info what it writes to standard error is shown here"
        ),
        (AgentKind::Openai, FailureKind::Unauthorized) => {
            "put a key that the endpoint knows into the variable of `key_env`".to_owned()
        }
        (AgentKind::Openai, _) => {
            let url = config.base_url.as_deref().unwrap_or_default();
            format!("start the endpoint, or correct `base_url` (now {url})")
        }
        (AgentKind::Demo, _) => "this is a fault of the server: report it".to_owned(),
    }
}

impl AgentReport {
    /// What wants doing about it.
    pub(super) fn finding(&self) -> Option<Finding> {
        let (problem, advice) = (self.problem.clone()?, self.advice.clone()?);
        Some(Finding::new(format!("agent {}", self.name), problem, advice))
    }

    fn new(
        name: String,
        kind: &'static str,
        took_ms: u64,
        tried: Result<AgentProfile, Broken>,
    ) -> Self {
        let (profile, broken) = match tried {
            Ok(profile) => (Some(Shown::of(profile)), None),
            Err(broken) => (None, Some(broken)),
        };
        let usable = profile.is_some();
        let (problem, advice) =
            broken.map_or((None, None), |broken| (Some(broken.problem), Some(broken.advice)));
        Self { name, kind, usable, took_ms, profile, problem, advice }
    }
}

impl Shown {
    fn of(profile: AgentProfile) -> Self {
        let capabilities = profile.capabilities();
        let context = match profile.context() {
            AgentContext::Transcript => "transcript",
            AgentContext::Own => "own",
        };
        Self {
            label: profile.label,
            models: profile.models,
            default_model: profile.default_model,
            context,
            steer: capabilities.steer,
            attachments: capabilities.attachments,
            resume: capabilities.resume,
        }
    }
}
