//! `check TRACE`: the audit of a recorded trace.

use std::fs::File;
use std::io::BufReader;
use std::path::Path;

use runwarden_protocol::invariants::{Auditor, Judged, Violation};
use runwarden_protocol::record::Digest;
use runwarden_sim::records::{Records, RecordsError};
use serde_json::{Value, json};

use super::{CommandError, Outcome, print};

/// Most violations that are listed; the others are counted.
const VIOLATIONS_LISTED_MAX: usize = 100;

pub(super) fn run(trace: &Path, is_json: bool) -> Result<Outcome, CommandError> {
    let audit = audit(trace)?;
    if is_json {
        print(&format!("{}\n", audit.object()))?;
    } else {
        print(&audit.report())?;
    }
    let is_clean = audit.fault.is_none() && audit.violations == 0;
    Ok(if is_clean { Outcome::Held } else { Outcome::Violated })
}

struct Audit {
    judged: Judged,
    digest: Digest,
    torn_bytes: usize,
    listed: Vec<Violation>,
    violations: usize,
    /// Why the trace is no trace from some line on.
    fault: Option<String>,
}

fn audit(path: &Path) -> Result<Audit, CommandError> {
    let file =
        File::open(path).map_err(|source| CommandError::Read { path: path.to_owned(), source })?;
    let mut records = Records::new(BufReader::new(file));
    let mut auditor = Auditor::default();
    let (mut listed, mut violations, mut fault) = (Vec::new(), 0, None);
    for record in records.by_ref() {
        let found = match record {
            Ok(record) => auditor.check(&record).map_err(|error| error.to_string()),
            Err(source @ RecordsError::Read { .. }) => {
                return Err(CommandError::Trace { path: path.to_owned(), source });
            }
            Err(error) => Err(error.to_string()),
        };
        match found {
            Ok(found) => {
                violations += found.len();
                let room = VIOLATIONS_LISTED_MAX - listed.len();
                listed.extend(found.into_iter().take(room));
            }
            Err(text) => {
                fault = Some(text);
                break;
            }
        }
    }
    let judged = auditor.judged();
    if judged.records == 0 && fault.is_none() {
        return Err(CommandError::Empty { path: path.to_owned() });
    }
    let (digest, torn_bytes) = (records.digest(), records.torn_bytes());
    Ok(Audit { judged, digest, torn_bytes, listed, violations, fault })
}

impl Audit {
    fn object(&self) -> Value {
        let listed: Vec<_> = self
            .listed
            .iter()
            .map(|violation| {
                json!({
                    "rule": violation.invariant,
                    "step": violation.n,
                    "machine": violation.machine,
                    "detail": violation.detail,
                })
            })
            .collect();
        let Judged { records, runs, rows, terminals, forgotten } = self.judged;
        json!({
            "records": records,
            "runs": runs,
            "rows": rows,
            "terminals": terminals,
            "runs_forgotten": forgotten,
            "digest": self.digest.to_string(),
            "torn_bytes": self.torn_bytes,
            "fault": self.fault,
            "violations": listed,
            "violations_total": self.violations,
        })
    }

    fn report(&self) -> String {
        let Judged { records, runs, rows, terminals, forgotten } = self.judged;
        let mut lines = vec![format!(
            "{records} records, {runs} runs, {rows} rows, {terminals} ends of runs, digest {}",
            self.digest
        )];
        if runs == 0 {
            lines.push("the records tell of no run: no invariant was judged".to_owned());
        }
        if forgotten > 0 {
            lines.push(format!("{forgotten} runs were forgotten: judge the trace in parts"));
        }
        if self.torn_bytes > 0 {
            lines.push(format!("{} bytes of a torn last line count for nothing", self.torn_bytes));
        }
        lines.extend(self.listed.iter().map(ToString::to_string));
        if self.violations > self.listed.len() {
            lines.push(format!("{} more violations", self.violations - self.listed.len()));
        }
        lines.extend(self.fault.iter().map(|fault| format!("no trace from here: {fault}")));
        if self.violations == 0 && self.fault.is_none() {
            lines.push("no invariant broken".to_owned());
        }
        lines.join("\n") + "\n"
    }
}
