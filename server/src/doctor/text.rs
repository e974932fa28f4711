//! The report for people.

use std::fmt::Write;

use runwarden_protocol::wire::frames::ServerState;
use runwarden_protocol::wire::structures::{LagTotal, ServerStatus};

use super::agents::{AgentReport, Shown};
use super::live::standing;
use super::report::Report;
use super::state::StateReport;
use crate::state_dir::Lease;
use crate::store::inspect::LeftRun;

/// The report as lines of text.
pub(super) fn of(report: &Report) -> String {
    let mut text = String::new();
    // Writing to a string cannot fail.
    let _ = write_report(&mut text, report);
    text
}

fn write_report(text: &mut String, report: &Report) -> std::fmt::Result {
    write_state(text, &report.state)?;
    if let Some(status) = report.live.as_ref().and_then(|live| live.status.as_ref()) {
        write_live(text, status)?;
    }
    writeln!(text, "\nagents")?;
    for agent in &report.agents {
        write_agent(text, agent)?;
    }
    if !report.notes.is_empty() {
        writeln!(text, "\nto know")?;
        for note in &report.notes {
            writeln!(text, "  {note}")?;
        }
    }
    if report.findings.is_empty() {
        return writeln!(text, "\nall is well");
    }
    writeln!(text, "\nto do")?;
    for finding in &report.findings {
        writeln!(text, "  {}: {}", finding.about, finding.problem)?;
        writeln!(text, "      {}", finding.advice)?;
    }
    Ok(())
}

fn write_state(text: &mut String, state: &StateReport) -> std::fmt::Result {
    writeln!(text, "state directory {}", state.path.display())?;
    if !state.exists {
        return writeln!(text, "  not there yet");
    }
    match &state.lease {
        Some(lease) => {
            writeln!(text, "  {:<16}running{}", "server", lease_line(lease, state.looked_at))?
        }
        None => writeln!(text, "  {:<16}not running", "server")?,
    }
    let sessions = state.sessions.found.as_ref();
    if let Some(found) = sessions {
        let whole = if found.faults.is_empty() { "whole" } else { "damaged" };
        writeln!(text, "  {:<16}schema {}, {whole}", "sessions.db", found.schema_version)?;
    }
    if let Some(content) = sessions.and_then(|found| found.content.as_ref()) {
        writeln!(
            text,
            "  {:<16}sessions {}, rows {}, runs {}",
            "", content.sessions, content.rows, content.runs
        )?;
        writeln!(
            text,
            "  {:<16}rows {}, {}, quarantined {}",
            "journals",
            content.journal_rows,
            size(content.journal_bytes),
            content.quarantined_total
        )?;
    }
    if let Some(content) = sessions.and_then(|found| found.content.as_ref())
        && !state.server_running
        && content.unsettled_total > 0
    {
        writeln!(text, "  {:<16}{}", "unsettled", content.unsettled_total)?;
        for run in &content.unsettled {
            write_left(text, state, run)?;
        }
    }
    if let Some(found) = &state.errors.found {
        let whole = if found.faults.is_empty() { "whole" } else { "damaged" };
        writeln!(
            text,
            "  {:<16}schema {}, {whole}, records {}, open {}",
            "errors.db", found.schema_version, found.records, found.open
        )?;
    }
    let total = state.entries.iter().map(|entry| entry.bytes).fold(0, u64::saturating_add);
    writeln!(text, "  {:<16}{}", "size", size(total))?;
    for entry in &state.entries {
        writeln!(text, "  {:<16}{} {}", "", entry.name, size(entry.bytes))?;
    }
    Ok(())
}

fn write_left(text: &mut String, state: &StateReport, run: &LeftRun) -> std::fmt::Result {
    let ago = |ms: u64| age(state.looked_at.saturating_sub(ms));
    let LeftRun { session_id, run_id, started_at, last_seq, last_event_at, ended_as } = run;
    write!(text, "  {:<16}{run_id} of {session_id}, pending for {}", "", ago(*started_at))?;
    match last_event_at {
        Some(at) => write!(text, ", row {last_seq} {} ago", ago(*at))?,
        None => write!(text, ", no row")?,
    }
    match ended_as {
        Some(outcome) => writeln!(text, ", its journal ends {outcome}"),
        None => writeln!(text),
    }
}

fn write_live(text: &mut String, status: &ServerStatus) -> std::fmt::Result {
    let LagTotal { connections, frames_max, bytes_max, waiting_ms_max } = status.lag;
    let unsigned = |value: i64| u64::try_from(value).unwrap_or(0);
    let state = match status.state {
        ServerState::Open => "takes runs",
        ServerState::StorageLow => "short of disk space: takes no new run",
        ServerState::Stopping => "is stopping",
    };
    writeln!(text, "\nserver {state}")?;
    write!(text, "  {:<16}{connections}", "connections")?;
    if frames_max > 0 {
        let (bytes, waiting) = (size(unsigned(bytes_max)), age(unsigned(waiting_ms_max)));
        write!(
            text,
            ", the slowest {frames_max} frames and {bytes} behind, taking none for {waiting}"
        )?;
    }
    writeln!(text, "\n  {:<16}{}", "runs", status.runs.len())?;
    for run in &status.runs {
        let wedged = if run.wedged { ", wedged" } else { "" };
        let unsettled = if run.unsettled { ", unsettled" } else { "" };
        let standing = standing(run, status.server_time);
        writeln!(
            text,
            "  {:<16}{} of {}, {standing}{wedged}{unsettled}",
            "", run.run_id, run.session_id
        )?;
    }
    Ok(())
}

fn lease_line(lease: &Lease, now_ms: u64) -> String {
    let process = lease.process_id.map(|id| format!(", process {id}"));
    let since = lease.since_ms.map(|at| format!(", for {}", age(now_ms.saturating_sub(at))));
    let address = match lease.address {
        Some(address) => format!(", on {address}"),
        None => ", not listening yet".to_owned(),
    };
    [process, since, Some(address)].into_iter().flatten().collect()
}

fn write_agent(text: &mut String, agent: &AgentReport) -> std::fmt::Result {
    let AgentReport { name, kind, took_ms, .. } = agent;
    match &agent.profile {
        Some(shown) => writeln!(text, "  {name} ({kind})  ready in {took_ms} ms: {}", line(shown)),
        None => writeln!(text, "  {name} ({kind})  not usable"),
    }
}

fn line(shown: &Shown) -> String {
    let mut parts = vec![format!("context {}", shown.context)];
    if let Some(model) = &shown.default_model {
        parts.push(format!("model {model}"));
    }
    if !shown.models.is_empty() {
        parts.push(format!("{} models", shown.models.len()));
    }
    let capabilities =
        [("steer", shown.steer), ("attachments", shown.attachments), ("resume", shown.resume)];
    parts.extend(capabilities.iter().filter(|(_, has)| *has).map(|(name, _)| (*name).to_owned()));
    parts.join(", ")
}

/// A time in its two largest units.
pub(super) fn age(ms: u64) -> String {
    let seconds = ms / 1_000;
    let (minutes, hours, days) = (seconds / 60, seconds / 3_600, seconds / 86_400);
    match (days, hours, minutes, seconds) {
        (0, 0, 0, 0) => format!("{ms} ms"),
        (0, 0, 0, seconds) => format!("{seconds} s"),
        (0, 0, minutes, seconds) => format!("{minutes} min {} s", seconds % 60),
        (0, hours, minutes, _) => format!("{hours} h {} min", minutes % 60),
        (days, hours, ..) => format!("{days} d {} h", hours % 24),
    }
}

/// Bytes with one decimal of the largest unit that fits.
fn size(bytes: u64) -> String {
    const UNITS: [&str; 4] = ["KiB", "MiB", "GiB", "TiB"];
    if bytes < 1_024 {
        return format!("{bytes} B");
    }
    let mut tenths = bytes.saturating_mul(10) / 1_024;
    let mut unit = 0;
    while tenths >= 10_240 && unit + 1 < UNITS.len() {
        tenths /= 1_024;
        unit += 1;
    }
    format!("{}.{} {}", tenths / 10, tenths % 10, UNITS[unit])
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_age_is_told_in_its_two_largest_units() {
        for (ms, text) in [
            (0, "0 ms"),
            (999, "999 ms"),
            (1_000, "1 s"),
            (59_999, "59 s"),
            (60_000, "1 min 0 s"),
            (3_599_000, "59 min 59 s"),
            (3_600_000, "1 h 0 min"),
            (86_399_000, "23 h 59 min"),
            (90_000_000, "1 d 1 h"),
        ] {
            assert_eq!(age(ms), text);
        }
    }

    #[test]
    fn sizes_change_their_unit_at_1024() {
        for (bytes, text) in [
            (0, "0 B"),
            (1_023, "1023 B"),
            (1_024, "1.0 KiB"),
            (1_536, "1.5 KiB"),
            (1_048_575, "1023.9 KiB"),
            (1_048_576, "1.0 MiB"),
            (3 << 30, "3.0 GiB"),
            (5 << 40, "5.0 TiB"),
            (u64::MAX, "1677721.5 TiB"),
        ] {
            assert_eq!(size(bytes), text);
        }
    }
}
