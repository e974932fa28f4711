//! The running server, asked for its runs and connections.

use std::net::SocketAddr;
use std::time::Duration;

use hyper::StatusCode;
use runwarden_protocol::wire::structures::{RunPhase, RunReport, ServerStatus};
use serde::Serialize;

use super::report::Finding;
use super::text::age;
use crate::asking::{self, Question};
use crate::config::Settings;

/// How long the server may take.
const ANSWER_MAX: Duration = Duration::from_secs(10);

/// Longest answer that is read.
const ANSWER_BYTES_MAX: usize = 16 * 1_024 * 1_024;

/// Runs of which a finding or a note names one each; all are in the JSON form.
const RUNS_NAMED_MAX: usize = 20;

/// What the running server says.
#[derive(Clone, Debug, Serialize)]
pub(super) struct LiveReport {
    /// Its status; none when it could not be asked.
    pub(super) status: Option<ServerStatus>,
    /// Why it could not be asked.
    pub(super) problem: Option<String>,
}

/// Asks the server that listens on `address`.
pub(super) fn examine(settings: &Settings, address: SocketAddr, token: Option<&str>) -> LiveReport {
    let (status, problem) = match fetch(settings, address, token) {
        Ok(status) => (Some(status), None),
        Err(problem) => (None, Some(problem)),
    };
    LiveReport { status, problem }
}

fn fetch(
    settings: &Settings,
    address: SocketAddr,
    token: Option<&str>,
) -> Result<ServerStatus, String> {
    let question =
        Question { path: "v1/status", token, bytes_max: ANSWER_BYTES_MAX, longest: ANSWER_MAX };
    let (status, text) =
        asking::get(settings, address, question).map_err(|error| error.to_string())?;
    if status != StatusCode::OK {
        return Err(format!("the server answers {}: {}", status.as_u16(), text.trim_end()));
    }
    serde_json::from_str(&text).map_err(|error| format!("its answer cannot be read: {error}"))
}

impl LiveReport {
    /// What wants doing.
    pub(super) fn findings(&self) -> Vec<Finding> {
        let Some(status) = &self.status else { return Vec::new() };
        let wedged = status.runs.iter().filter(|run| run.wedged && !run.unsettled);
        let wedged = wedged.map(|run| {
            let problem = format!("it is wedged: {}", standing(run, status.server_time));
            let advice = "look at its agent; a stopped agent is ended by force after 10 s, and what survives that \
                          ends with the server";
            Finding::new(format!("run {}", run.run_id), problem, advice)
        });
        let unsettled = status.runs.iter().filter(|run| run.unsettled).map(|run| {
            let advice = "it is tried again every 30 s; look at the disk and the log";
            Finding::new(format!("run {}", run.run_id), "its end cannot be stored", advice)
        });
        let low = (status.state == runwarden_protocol::wire::frames::ServerState::StorageLow).then(
            || {
                Finding::new(
                    "disk",
                    "too little space is free: new runs are refused",
                    "make room where the state directory lies, or lower `disk_low` in [limits]",
                )
            },
        );
        low.into_iter().chain(wedged.chain(unsettled).take(RUNS_NAMED_MAX)).collect()
    }

    /// What is worth knowing and mends itself.
    pub(super) fn notes(&self) -> Vec<String> {
        if let Some(problem) = &self.problem {
            return vec![format!("the server was not asked for its runs: {problem}")];
        }
        let Some(status) = &self.status else { return Vec::new() };
        let cancelling = status
            .runs
            .iter()
            .filter(|run| run.phase == Some(RunPhase::Cancelling) && !run.wedged && !run.unsettled);
        let note = |run: &RunReport| {
            format!(
                "run {} is on its way to its end: {}",
                run.run_id,
                standing(run, status.server_time)
            )
        };
        cancelling.map(note).take(RUNS_NAMED_MAX).collect()
    }
}

/// Where a run stands and since when.
pub(super) fn standing(run: &RunReport, now_ms: i64) -> String {
    let ago = |ms: i64| age(u64::try_from(now_ms.saturating_sub(ms)).unwrap_or(0));
    let mut text = match run.phase {
        Some(phase) => format!("{} for {}", phase.as_str(), ago(run.since)),
        None if run.since > 0 => format!("without row, its worker lives on for {}", ago(run.since)),
        None => "over".to_owned(),
    };
    match run.last_event_at {
        Some(at) => text += &format!(", row {} {} ago", run.last_seq, ago(at)),
        None if run.phase.is_some() => text += ", no row yet",
        None => {}
    }
    if run.open_questions > 0 {
        text += &format!(", waits for {} answers", run.open_questions);
    }
    if let Some(reason) = &run.replay.reason {
        text += &format!(", journal quarantined: {reason}");
    }
    text
}
