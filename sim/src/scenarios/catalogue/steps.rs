//! What happened before scenarios begin.

pub(super) type Steps = &'static [&'static str];

pub(super) const ADMITTED: Steps = &["client-a send start(run_1)", "store answer admitted(run_1)"];
pub(super) const LAUNCH: Steps = &["worker-1 answer launched(run_1)"];
pub(super) const BEGUN: Steps = &["worker-1 answer began(run_1)"];
pub(super) const CONSTRUCTED: Steps = &["worker-1 answer constructed(run_1)"];
pub(super) const REGISTERED: Steps = &["worker-1 answer registration_asked(run_1)"];
pub(super) const INVOKED: Steps = &["worker-1 answer invocation_asked(run_1)"];
pub(super) const AGENT_LOST: Steps = &["agent-1 fault lost(run_1)"];
pub(super) const FIRST_ROW: Steps = &["agent-1 emit text(run_1)", "store answer persisted(run_1)"];
pub(super) const FIRST_THOUGHT: Steps =
    &["agent-1 emit thought(run_1)", "store answer persisted(run_1)"];
pub(super) const FIRST_QUESTION: Steps =
    &["agent-1 emit question(run_1)", "store answer persisted(run_1)"];
pub(super) const RETURNED: Steps = &["agent-1 emit completed(run_1)"];
pub(super) const SETTLED: Steps = &["store answer settled(run_1)"];
pub(super) const STOPPED: Steps = &["client-a send stop_run(run_1)"];
pub(super) const CONNECTION_LOST: Steps = &["link fault drop(client-a)"];
pub(super) const PRESSED: Steps = &["clock fire stop_term", "clock fire stop_kill"];
pub(super) const WINDOW_OVER: Steps = &["clock fire unwind"];
pub(super) const RUN_SHOWN: Steps = &["link send run_status"];
pub(super) const SECOND_ADMITTED: Steps =
    &["client-b send start(run_2)", "store answer admitted(run_2)"];
pub(super) const SECOND_QUEUED: Steps =
    &["client-b send queue(run_2)", "store answer queued(ses_1)"];
pub(super) const STEER_SENT: Steps = &["client-a send steer(run_1)"];
pub(super) const STEERED: Steps = &["client-a send steer(run_1)", "store answer persisted(run_1)"];
pub(super) const SECOND_REFUSED: Steps = &[
    "worker-2 answer began(run_2)",
    "client-b send stop_run(run_2)",
    "store answer settled(run_2)",
    "worker-2 answer registration_asked(run_2)",
];
pub(super) const THIRD_INVOKED: Steps = &[
    "client-c send start(run_3)",
    "store answer admitted(run_3)",
    "worker-3 answer launched(run_3)",
    "worker-3 answer began(run_3)",
    "worker-3 answer registration_asked(run_3)",
    "worker-3 answer invocation_asked(run_3)",
];
pub(super) const CRASHED: Steps = &["server fault crash"];
pub(super) const TAKEN_OVER: Steps =
    &["store fault lease_lost", "clock fire grace", "clock fire grace", "recovery send take_over"];
pub(super) const SECOND_LAUNCH: Steps = &["worker-2 answer launched(run_2)"];
pub(super) const SECOND_INVOKED: Steps = &[
    "worker-2 answer began(run_2)",
    "worker-2 answer registration_asked(run_2)",
    "worker-2 answer invocation_asked(run_2)",
];

pub(super) const LAUNCHED_RUN: &[Steps] = &[ADMITTED, LAUNCH];
pub(super) const REGISTERED_RUN: &[Steps] = &[ADMITTED, LAUNCH, BEGUN, CONSTRUCTED, REGISTERED];
pub(super) const INVOKED_RUN: &[Steps] =
    &[ADMITTED, LAUNCH, BEGUN, CONSTRUCTED, REGISTERED, INVOKED];
pub(super) const SPEAKING_RUN: &[Steps] =
    &[ADMITTED, LAUNCH, BEGUN, CONSTRUCTED, REGISTERED, INVOKED, FIRST_ROW];
