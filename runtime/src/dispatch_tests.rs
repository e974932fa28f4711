use runwarden_protocol::ids::MessageId;
use runwarden_protocol::journal::row::Outcome;

use super::*;

const RUN: RunId = RunId::new(1);
const AGENT: AgentId = AgentId::new(1);
const ASK: AskId = AskId::new(1);
const AT: Instant = Instant::ZERO;

/// One of every effect that goes to a port other than the announcements, with the layers it has to name.
fn effects() -> Vec<(Output, &'static str)> {
    let (run_id, agent, turn_id) = (RUN, AGENT, MessageId::new(1));
    let (ask, expected, at) = (ASK, Revision::new(1), AT);
    let verdict =
        Verdict { outcome: Outcome::Completed, reason: None, marker: None, failure: None };
    let (hold, steers, requeue) = (None, Vec::new(), None);
    let begun = "pending_turn,turn_journal,session_record,session_metadata,transcript,model_context,\
                 send_queue";
    let head = "pending_turn,turn_journal,session_record,session_metadata,send_queue";
    let ended = "pending_turn,run_journal,turn_journal,transcript,model_context,send_queue,session_record,\
                 session_metadata";
    vec![
        (Output::Admit { run_id, turn_id, expected, is_head: false, wakeups: None, at }, begun),
        (Output::Admit { run_id, turn_id, expected, is_head: true, wakeups: None, at }, head),
        (Output::Compensate { run_id, expected, requeue, wakeups: None, at }, ended),
        (
            Output::Settle {
                run_id,
                turn_id,
                expected,
                verdict,
                recovery: false,
                hold,
                steers,
                wakeups: None,
                at,
            },
            ended,
        ),
        (Output::Delete { ask, run: None, expected, at }, ended),
        (Output::Change { ask, expected, at }, "session_record,session_metadata"),
        (
            Output::ChangeQueue { change: Change::Hold, held: None, expected, at },
            "send_queue,session_record",
        ),
        (Output::StartWorker { run_id, at }, "turn_journal"),
        (Output::Append { run_id, rows: Vec::new() }, "run_journal"),
        (Output::Invoke { run_id, agent }, "agent_store"),
        (Output::Close { agent }, "agent_cache"),
        (Output::CleanUp { agent }, "agent_cache"),
        (Output::TellCache { notice: Notice::Freed }, "agent_cache"),
        (Output::ReleaseSlot { run_id }, "worker_registry"),
        (Output::Forget { run_id }, "live_stream"),
        (Output::Discard { payloads: Vec::new() }, "live_stream"),
        (Output::StartHead { turn_id }, ""),
        (Output::Launch { run_id }, ""),
        (Output::Construct { run_id }, ""),
        (Output::AbandonConstruction { run_id }, ""),
        (Output::AskRegistration { run_id }, ""),
        (Output::Prepare { run_id, agent }, ""),
        (Output::Signal { run_id, agent, signal: StopSignal::Interrupt }, ""),
        (Output::ExitWorker { run_id }, ""),
    ]
}

/// OBS-05 [unit]: each effect names the layers it changes: every call that writes the store names durable ones, and one
/// that names none only moves a worker or asks for an answer.
#[test]
fn every_effect_names_the_layers_it_changes() {
    for (effect, layers) in effects() {
        assert_eq!(effect.layer_names(), layers, "{effect:?}");
        let is_durable = effect.layers().iter().any(|layer| layer.is_durable());
        let must_be_durable = match port_call(effect.clone()) {
            PortCall::Store(..)
            | PortCall::Change { .. }
            | PortCall::Delete { .. }
            | PortCall::Rotate { .. }
            | PortCall::Queue(QueueCall::Change { .. })
            | PortCall::Wakeups(WakeupCall::Change { .. })
            | PortCall::Worker(_, WorkerCall::Invoke(_)) => true,
            PortCall::Queue(QueueCall::StartHead { .. })
            | PortCall::Wakeups(WakeupCall::Start { .. } | WakeupCall::Answer { .. })
            | PortCall::Worker(..)
            | PortCall::CloseAgent(_)
            | PortCall::TellCache(_)
            | PortCall::Release(_)
            | PortCall::Announce(_) => false,
        };
        assert_eq!(is_durable, must_be_durable, "{effect:?}");
    }
}
