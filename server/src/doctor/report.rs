//! What the doctor found, as `--json` prints it.

use serde::Serialize;

use super::agents::AgentReport;
use super::live::LiveReport;
use super::state::StateReport;

/// Everything found.
#[derive(Clone, Debug, Serialize)]
pub(super) struct Report {
    /// Whether nothing wants doing.
    pub(super) ok: bool,
    /// What wants doing.
    pub(super) findings: Vec<Finding>,
    /// What is worth knowing and mends itself.
    pub(super) notes: Vec<String>,
    /// The state directory.
    pub(super) state: StateReport,
    /// The running server; none when none listens.
    pub(super) live: Option<LiveReport>,
    /// The agents, in the order of the configuration.
    pub(super) agents: Vec<AgentReport>,
}

/// Something that wants doing.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub(super) struct Finding {
    /// What it is about: a file, a run, an agent.
    pub(super) about: String,
    /// What is wrong.
    pub(super) problem: String,
    /// What to do.
    pub(super) advice: String,
}

impl Finding {
    /// A finding.
    pub(super) fn new(
        about: impl Into<String>,
        problem: impl Into<String>,
        advice: impl Into<String>,
    ) -> Self {
        Self { about: about.into(), problem: problem.into(), advice: advice.into() }
    }
}

impl Report {
    /// The report of what was seen.
    pub(super) fn new(
        state: StateReport,
        live: Option<LiveReport>,
        agents: Vec<AgentReport>,
    ) -> Self {
        let mut findings = state.findings();
        findings.extend(live.iter().flat_map(LiveReport::findings));
        findings.extend(agents.iter().filter_map(AgentReport::finding));
        let mut notes = state.notes();
        notes.extend(live.iter().flat_map(LiveReport::notes));
        Self { ok: findings.is_empty(), findings, notes, state, live, agents }
    }
}
