//! What a session reports of its runs (OBS-02).

use runwarden_protocol::run::lineage::SeenRun;
use runwarden_protocol::session::project::int;
use runwarden_protocol::wire::structures::RunReport;

use super::driver::Driver;
use crate::ports::{Store, World};
use crate::status::replay_of;

impl<W: World, S: Store> Driver<W, S> {
    /// The runs the machine holds, then those whose journal was found wanting.
    pub(super) fn report(&self) -> Vec<RunReport> {
        let now = self.hub.now();
        let mut reports: Vec<_> =
            self.machine.seen_runs(now).map(|run| self.report_of(&run)).collect();
        for (run_id, reason) in self.quarantine.iter() {
            if !self.machine.holds(run_id) {
                reports.push(RunReport {
                    session_id: self.session_id.to_string(),
                    run_id: run_id.to_string(),
                    phase: None,
                    since: 0,
                    last_seq: 0,
                    last_event_at: None,
                    replay: replay_of(false, Some(reason)),
                    open_questions: 0,
                    unsettled: false,
                    wedged: false,
                });
            }
        }
        reports
    }

    fn report_of(&self, run: &SeenRun) -> RunReport {
        let last_event_at = self.runs.get(&run.run_id).and_then(|state| state.last_event_at);
        RunReport {
            session_id: self.session_id.to_string(),
            run_id: run.run_id.to_string(),
            phase: run.phase,
            since: int(run.since.as_millis()),
            last_seq: int(run.last_seq.get()),
            last_event_at: last_event_at.map(|at| int(at.as_millis())),
            replay: replay_of(run.is_degraded, self.quarantine.reason(run.run_id)),
            open_questions: i64::try_from(run.open_questions).unwrap_or(i64::MAX),
            unsettled: run.is_unsettled,
            wedged: run.is_wedged,
        }
    }
}
