//! The cancelled settlement on model ports: RACE-15, on whatever path a Stop finds the worker.

use runwarden_sim::explore::{Budget, Conditions, NotTaken, Recording};
use runwarden_sim::scenarios::Scenario;

const PLENTY: Budget = Budget { clients: 9, events: 9, stops: 9, drops: 9, crashes: 9 };

/// A call that is under way.
const CALLED: [&str; 7] = [
    "client-a send start(run_1)",
    "store answer admitted(run_1)",
    "worker-1 answer launched(run_1)",
    "worker-1 answer began(run_1)",
    "worker-1 answer constructed(run_1)",
    "worker-1 answer registration_asked(run_1)",
    "worker-1 answer invocation_asked(run_1)",
];

/// What happens behind that, up to the end of the worker: each line is a path to the finaliser.
const PATHS: [&[&str]; 6] = [
    // The call failed by a returned error, and the worker is about to save that.
    &[
        "agent-1 emit failed(run_1)",
        "client-a send stop_run(run_1)",
        "store fault settlement_failed(run_1)",
        "store answer settled(run_1)",
        "worker-1 answer exited(run_1)",
    ],
    // The canceller comes first.
    &[
        "client-a send stop_run(run_1)",
        "store answer settled(run_1)",
        "agent-1 emit failed(run_1)",
        "worker-1 answer exited(run_1)",
    ],
    // The worker comes back while the canceller saves.
    &[
        "client-a send stop_run(run_1)",
        "agent-1 emit failed(run_1)",
        "store answer settled(run_1)",
        "worker-1 answer exited(run_1)",
    ],
    // The worker is lost while the canceller saves, and somebody stops once more.
    &[
        "client-a send stop_run(run_1)",
        "client-a send stop_run(run_1)",
        "worker-1 fault lost(run_1)",
        "store answer settled(run_1)",
    ],
    // Rows are under way.
    &[
        "agent-1 emit text(run_1)",
        "client-a send stop_run(run_1)",
        "agent-1 emit failed(run_1)",
        "store answer persisted(run_1)",
        "store answer settled(run_1)",
        "worker-1 answer exited(run_1)",
    ],
    // The first try of the canceller fails.
    &[
        "client-a send stop_run(run_1)",
        "agent-1 emit failed(run_1)",
        "worker-1 answer exited(run_1)",
        "store fault settlement_failed(run_1)",
        "store answer settled(run_1)",
    ],
];

/// Plays a path and the start of a second run; how often a cancelled end was written, asked for and shown.
fn told(variant: Option<&str>, path: &[&str]) -> Result<[usize; 3], NotTaken> {
    let scenario = Scenario::find("RACE-18").expect("it is in the catalogue");
    let variant = variant.map(|name| scenario.variant(name).expect("it has this variant"));
    let plain = Scenario { init: &[], conditions: Conditions::PLAIN, ..*scenario };
    let mut play = plain.begin(variant, PLENTY, Recording::On);
    CALLED.iter().chain(path).try_for_each(|label| play.take(label))?;
    play.take("client-b send start(run_2)")?;
    play.take("store answer admitted(run_2)")?;
    let is_cancelled = |output: &&serde_json::Value| {
        let outcome = |of: &serde_json::Value| of["outcome"] == "cancelled";
        outcome(output) || outcome(&output["verdict"])
    };
    let count = |kind: &str| {
        let outputs = play.records().iter().flat_map(|record| &record.outputs);
        outputs.filter(is_cancelled).filter(|output| output["kind"] == kind).count()
    };
    let retries = path.iter().filter(|label| label.contains("settlement_failed")).count();
    let by_worker = usize::from(path[0].contains("failed"));
    Ok([count("settle") - (retries - by_worker), count("run_ended"), retries])
}

/// STOP-14 [sim]: on whatever path the worker is when a Stop is accepted, the cancelled end is settled in one place,
/// written and shown once, and the session takes the next turn.
#[test]
fn the_cancelled_settlement_is_entered_exactly_once() {
    for path in PATHS {
        let told = told(None, path).unwrap_or_else(|other| panic!("{path:?}: {other}"));
        assert_eq!(told[..2], [1, 1], "{path:?}");
    }
    // A claim that is dropped leaves the session without an end.
    assert!(told(Some("failed-save-drops-claim"), PATHS[5]).is_err());
}
