//! Who sends an input to a machine and who carries out an output, by its kind.

/// A peer of the machines.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Peer {
    /// Whoever asks, and whoever watches.
    Client,
    /// The store.
    Store,
    /// The worker and its agent.
    Agent,
    /// The transport of a connection.
    Transport,
    /// Time.
    Clock,
    /// The process around the machines, for everything else.
    Server,
}

/// Who sends the input of this kind.
pub(super) fn peer_of_input(kind: &str) -> Peer {
    match kind {
        "start" | "stop" | "answer" | "answered" | "acquire" | "session_chosen" | "list_wanted"
        | "send_wanted" | "stop_wanted" => Peer::Client,
        "committed" | "commit_failed" | "persisted" | "append_failed" => Peer::Store,
        "launched"
        | "launch_failed"
        | "worker_began"
        | "agent_constructed"
        | "construction_failed"
        | "registration_asked"
        | "invocation_asked"
        | "produced"
        | "question_asked"
        | "asked"
        | "returned"
        | "worker_exited"
        | "hand_over"
        | "text" => Peer::Agent,
        "sent" | "write_progressed" | "transport_failed" => Peer::Transport,
        "tick" => Peer::Clock,
        _ => Peer::Server,
    }
}

/// Who carries out or hears the output of this kind.
pub(super) fn peer_of_output(kind: &str) -> Peer {
    match kind {
        "start_answered" | "stop_answered" | "answer_refused" | "question_opened" | "opened"
        | "questions_resolved" | "resolved" | "published" | "published_degraded"
        | "phase_changed" | "run_ended" | "session_changed" | "became_idle" | "not_sent"
        | "not_stopped" | "stops_failed" | "list_cut" => Peer::Client,
        "admit" | "compensate" | "settle" | "start_worker" | "append" => Peer::Store,
        "launch" | "construct" | "ask_registration" | "prepare" | "invoke" | "signal" | "close"
        | "clean_up" | "exit_worker" | "question_refused" => Peer::Agent,
        "transmit" => Peer::Transport,
        _ => Peer::Server,
    }
}

/// Whether an output only tidies up or repeats what another one says; diagrams name it beside its step.
pub(super) fn is_housekeeping(kind: &str) -> bool {
    matches!(
        kind,
        "discard" | "release_slot" | "forget" | "session_changed" | "became_idle" | "tell_cache"
    )
}
