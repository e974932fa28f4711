//! The laws, over every order of everything that can happen to one run and the start of another.

use super::world::{
    AGENT, QUESTION, RUN, World, committed, found, persisted, returned, session, start, stop, text,
};
use crate::ids::{AskId, Revision, RunId, Seq};
use crate::instant::Instant;
use crate::journal::row::{Outcome, Reason};
use crate::laws::laws;
use crate::machine::{Machine, Scope};
use crate::matrix::{Matrix, assert_matrix};
use crate::run::guards::Rules;
use crate::run::lineage::{Input, KnownRun, Lineage};
use crate::run::settlement::Failure;
use crate::run::worker::CallResult;

/// Commits, rows and time that keep a scope small enough for every build.
struct OneRun {
    revision_max: u64,
    rows_max: u64,
    horizon: Instant,
    /// Whether the worker's own steps are explored, or the worker is invoked from the start.
    worker_steps: bool,
}

impl Scope<Lineage> for OneRun {
    fn inputs(&self, lineage: &Lineage<Rules>) -> Vec<Input> {
        let run_id = RUN;
        let mut inputs = vec![
            Input::EndByServer { run_id, reason: Reason::Shutdown },
            Input::CommitFailed { run_id },
            Input::Launched { run_id },
            Input::LaunchFailed { run_id },
            Input::WorkerExited { run_id },
            returned(1),
            elsewhere(lineage.revision()),
        ];
        let stops = lineage.runs.first().is_some_and(|entry| entry.stop.weight() > stop_weight());
        if !stops {
            inputs.push(stop(1, 2));
        }
        let revision = lineage.revision().get();
        if revision < self.revision_max {
            inputs.extend([start(1), committed(1, revision + 1)]);
        }
        if self.worker_steps {
            inputs.extend(worker_steps());
        }
        self.push_rows(lineage, &mut inputs);
        inputs
    }

    fn horizon(&self) -> Instant {
        self.horizon
    }
}

impl OneRun {
    fn push_rows(&self, lineage: &Lineage<Rules>, inputs: &mut Vec<Input>) {
        let run_id = RUN;
        let entry = lineage.runs.first();
        // Without a call these change no row, so they keep the scope small.
        if entry.is_none_or(|entry| entry.worker.invoked().is_none()) {
            inputs.extend([Input::Produced { run_id, row: text(1) }, asked()]);
        }
        if entry.is_none_or(|entry| entry.journal.is_idle()) {
            inputs.extend([persisted(1, 1, 1), Input::AppendFailed { run_id }]);
        }
        let Some(rows) = lineage.last_seq(RUN).map(Seq::get) else { return };
        if rows < self.rows_max {
            inputs.push(persisted(1, rows + 1, 1));
            inputs.push(Input::AppendFailed { run_id });
            let idle = lineage.runs.first().is_some_and(|entry| entry.journal.is_idle());
            if idle {
                inputs.push(Input::Produced { run_id, row: text(1) });
            }
        }
    }
}

fn elsewhere(revision: Revision) -> Input {
    Input::SettledElsewhere { run_id: RUN, outcome: Outcome::Interrupted, revision }
}

fn asked() -> Input {
    let row = text(1);
    Input::QuestionAsked { run_id: RUN, question_id: QUESTION, approval: false, row }
}

fn stop_weight() -> usize {
    crate::run::stop::Stop::<Rules>::default().weight()
}

fn worker_steps() -> Vec<Input> {
    let run_id = RUN;
    let result = CallResult::Failed { failure: Failure { retryable: true } };
    vec![
        Input::Stop {
            ask: AskId::new(3),
            run_id: RunId::new(7),
            known: KnownRun::Ended { outcome: Outcome::Completed },
        },
        Input::Answer { ask: AskId::new(4), question_id: QUESTION, version: 1 },
        Input::Evict,
        Input::WorkerBegan { run_id },
        Input::AgentConstructed { run_id, agent: AGENT },
        Input::ConstructionFailed { run_id },
        Input::RegistrationAsked { run_id },
        Input::InvocationAsked { run_id, agent: AGENT },
        Input::Returned { run_id, result },
        Input::Returned { run_id, result: CallResult::Lost },
        Input::Recover(found(0)),
    ]
}

#[test]
fn the_laws_hold_from_a_start_to_every_end() {
    let scope = OneRun { revision_max: 3, rows_max: 0, horizon: Instant::ZERO, worker_steps: true };
    let report = laws(session(), &scope, 64 * 1024).unwrap();
    let reached: Vec<_> = report.state_names.keys().copied().collect();
    assert_eq!(
        reached,
        ["cancelling", "finalizing", "idle", "running", "starting", "unsettled"],
        "{report:?}"
    );
    let mut matrix = the_laws_hold_for_rows_stops_and_failures_of_an_invoked_run();
    matrix.merge(report.matrix);
    assert_matrix!("run", &matrix);
}

/// Only a run that is invoked has rows, so its scope is another one.
fn the_laws_hold_for_rows_stops_and_failures_of_an_invoked_run() -> Matrix {
    let mut world = World::new();
    world.invoke(1);
    let horizon = Instant::from_millis(40_000);
    let scope = OneRun { revision_max: 3, rows_max: 2, horizon, worker_steps: false };
    let report = laws(world.session, &scope, 64 * 1024).unwrap();
    assert!(report.states > 100, "{report:?}");
    report.matrix
}
