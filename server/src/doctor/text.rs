//! The report for people.

use std::fmt::Write;

use super::agents::{AgentReport, Shown};
use super::report::Report;
use super::state::StateReport;

/// The report as lines of text.
pub(super) fn of(report: &Report) -> String {
    let mut text = String::new();
    // Writing to a string cannot fail.
    let _ = write_report(&mut text, report);
    text
}

fn write_report(text: &mut String, report: &Report) -> std::fmt::Result {
    write_state(text, &report.state)?;
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
    let server = if state.server_running { "running" } else { "not running" };
    writeln!(text, "  {:<16}{server}", "server")?;
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
