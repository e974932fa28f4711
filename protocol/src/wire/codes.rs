//! Registered codes and everything fixed about them (2.9).

use std::fmt;
use std::str::FromStr;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::structures::Severity;

/// When sending the same action again is safe and may succeed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Retryable {
    /// Always.
    Always,
    /// Never.
    Never,
    /// For reads and loads, not for changes and runs.
    ByKind,
    /// As the turn or job that failed says.
    AsStated,
}

/// The text names no registered code.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("unknown code: use one of the registered codes")]
pub struct UnknownCode;

struct Facts {
    name: &'static str,
    http: Option<u16>,
    severity: Severity,
    retryable: Retryable,
    recorded: bool,
    message: &'static str,
}

macro_rules! codes {
    ($($(#[$doc:meta])* $variant:ident $name:literal $http:tt $severity:ident $retryable:ident
        $recorded:ident $message:literal;)*) => {
        /// A registered code.
        #[derive(
            Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize,
            JsonSchema,
        )]
        pub enum Code {
            $($(#[$doc])* #[serde(rename = $name)] $variant,)*
        }

        impl Code {
            /// Every registered code, in the order of 2.9.
            pub const ALL: &'static [Self] = &[$(Self::$variant,)*];

            const fn facts(self) -> Facts {
                match self {
                    $(Self::$variant => Facts {
                        name: $name,
                        http: codes!(@http $http),
                        severity: Severity::$severity,
                        retryable: Retryable::$retryable,
                        recorded: codes!(@recorded $recorded),
                        message: $message,
                    },)*
                }
            }
        }
    };
    (@http -) => { None };
    (@http $status:literal) => { Some($status) };
    (@recorded recorded) => { true };
    (@recorded unrecorded) => { false };
}

impl Code {
    /// Its name on the wire.
    pub const fn as_str(self) -> &'static str {
        self.facts().name
    }

    /// Status of a one-shot call that ends with it; none for a code that ends no call.
    pub const fn http_status(self) -> Option<u16> {
        self.facts().http
    }

    /// How bad it is.
    pub const fn severity(self) -> Severity {
        self.facts().severity
    }

    /// When sending the same action again is safe and may succeed.
    pub const fn retryable(self) -> Retryable {
        self.facts().retryable
    }

    /// Whether its error enters the store of user errors before it is sent (ERR-25).
    pub const fn recorded(self) -> bool {
        self.facts().recorded
    }

    /// Registered text: what happened and what the person can do (ENV-4).
    pub const fn message(self) -> &'static str {
        self.facts().message
    }

    /// Whether a refusal with it states `retry_after_ms` (RATE-6).
    pub const fn states_retry_after(self) -> bool {
        matches!(self, Self::RateLimited | Self::ServerBusy | Self::StorageLow)
    }
}

impl fmt::Display for Code {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(self.as_str())
    }
}

impl FromStr for Code {
    type Err = UnknownCode;

    fn from_str(text: &str) -> Result<Self, UnknownCode> {
        Self::ALL.iter().find(|code| code.as_str() == text).copied().ok_or(UnknownCode)
    }
}

codes! {
    /// Action not in this protocol version.
    UnknownAction "unknown_action" 400 Error Never recorded
        "The server does not know this action. Reload the page, or update the client.";
    /// Command failed; detail only in the diagnostic log.
    HandlerError "handler_error" 500 Error Never recorded
        "The server could not carry this out. Give the operator the correlation id.";
    /// A store read or write failed.
    StorageFailed "storage_failed" 503 Error ByKind recorded
        "The server could not use its storage. Reload to see what was kept before you try again.";
    /// In `stream_terminal`.
    TurnFailed "turn_failed" - Error AsStated recorded
        "The agent could not finish this answer. What it wrote is kept.";
    /// In `job_status`.
    JobFailed "job_failed" - Error AsStated recorded
        "The background job could not finish. Open the job list to see whether it can be retried.";
    /// Job ended by a restart.
    ProcessRestarted "process_restarted" - Error Always recorded
        "The server restarted and the job ended. Start it again.";
    /// Malformed message or field, or one above a named limit.
    InvalidRequest "invalid_request" 400 Warning Never unrecorded
        "The server could not accept this request. Check the input and its length, then send it again.";
    /// The role of the principal does not reach this action.
    NotPermitted "not_permitted" 403 Warning Never unrecorded
        "Your account may not do this. Ask the operator for the owner role.";
    /// Session absent or invisible.
    SessionUnknown "session_unknown" 404 Warning Never unrecorded
        "This session does not exist, or you may not see it. Choose another session.";
    /// Session may be read, not written.
    SessionReadOnly "session_read_only" 403 Warning Never unrecorded
        "You may read this session but not change it. Create a session of your own.";
    /// Cursor, token, entity or history snapshot no longer available.
    CursorUnavailable "cursor_unavailable" 409 Warning Always unrecorded
        "This position is no longer available. Load the newest page again.";
    /// Answer too large for a baseline connection.
    UpgradeRequired "upgrade_required" 409 Warning Never unrecorded
        "The answer is too large for this client. Use a newer client.";
    /// Logical frame above every limit.
    ResponseTooLarge "response_too_large" 409 Warning Never unrecorded
        "The answer is too large to be sent. Ask for a smaller part.";
    /// No common protocol.
    ProtocolUnsupported "protocol_unsupported" 400 Warning Never unrecorded
        "Client and server have no common protocol version. Update the older one.";
    /// Reconnect shortly.
    ServerStopping "server_stopping" 503 Warning Always unrecorded
        "The server is stopping. Wait until it is back, then try again.";
    /// Cleanup plan no longer matches.
    PlanExpired "plan_expired" 409 Warning Always unrecorded
        "The cleanup plan no longer matches the files. Make a new plan.";
    /// Cleanup refused.
    CategoryProtected "category_protected" 403 Warning Never unrecorded
        "This category is protected. Include protected categories if you mean it.";
    /// Key already used with other content.
    IdempotencyConflict "idempotency_conflict" 409 Warning Never unrecorded
        "This key was already used for something else. Send the request with a new key.";
    /// `may_start` is false; with run_id, phase, attachable.
    SessionBusy "session_busy" 409 Warning Always unrecorded
        "A run of this session has not ended. Wait for it, or stop it, then send again.";
    /// Continued elsewhere; with continuation_session_id.
    SessionRotated "session_rotated" 409 Warning Never unrecorded
        "This session goes on in another one. Open the continuation and send there.";
    /// Agent code changed since it was loaded.
    RuntimeStale "runtime_stale" 409 Warning Always unrecorded
        "The agent was changed since it was loaded. Try again once it is loaded anew.";
    /// Agent cannot regenerate.
    RegenerationUnsupported "regeneration_unsupported" 409 Warning Never unrecorded
        "This agent cannot answer a message again. Send a new message instead.";
    /// `rewrite` names an older revision.
    RegenerationStale "regeneration_stale" 409 Warning Never unrecorded
        "The session changed meanwhile. Look at the newest state, then decide again.";
    /// Session awaits compression recovery.
    CompressionRecoveryRequired "compression_recovery_required" 409 Warning Always unrecorded
        "This session is recovering its context. Try again shortly.";
    /// Internal starts only.
    WakeupsPaused "wakeups_paused" 409 Warning Always unrecorded
        "Automatic starts are paused for this session. Send a message to go on.";
    /// Liveness of a run cannot be read, or the session is unsettled.
    LivenessUnreadable "liveness_unreadable" 409 Warning Always unrecorded
        "The state of the last run cannot be read yet. Try again shortly.";
    /// The head is not `expected_head_id`.
    HeadConflict "head_conflict" 409 Warning Always unrecorded
        "The session moved to another branch meanwhile. Look at it, then try again.";
    /// Queue held after a Stop; ends with `resume_queue`.
    StoppedByUser "stopped_by_user" - Warning Always unrecorded
        "The queue waits because a run was stopped. Resume the queue to go on.";
    /// 64 entries are waiting.
    QueueFull "queue_full" 409 Warning Always unrecorded
        "Too many messages wait in this session. Try again when one of them was answered.";
    /// Question, queue entry, job or item is no longer open.
    Gone "gone" 409 Warning Never unrecorded
        "This is no longer open. Reload to see the current state.";
    /// Chosen agent, model or backend not configured.
    BackendUnavailable "backend_unavailable" 501 Warning Never unrecorded
        "The chosen agent or model is not configured. Choose another one.";
    /// Remote backend refused the stop.
    RemoteRefused "remote_refused" 409 Warning Always unrecorded
        "The remote side refused to stop. Try again.";
    /// Durable write or launch failed after the reservation.
    LaunchFailed "launch_failed" 503 Warning Always unrecorded
        "The run could not be started and nothing was kept of it. Send the message again.";
    /// Too many concurrent runs; with retry_after_ms.
    ServerBusy "server_busy" 503 Warning Always unrecorded
        "Too many runs are active. Wait a moment, then send again.";
    /// Free space below `disk_low`; with retry_after_ms.
    StorageLow "storage_low" 503 Warning Always unrecorded
        "The disk of the server is nearly full. Ask the operator to free space, then try again.";
    /// Too many actions, connections or logins; with retry_after_ms.
    RateLimited "rate_limited" 429 Warning Always unrecorded
        "Too many requests in a short time. Wait a moment, then try again.";
    /// A 9th session is opened on one connection.
    LimitReached "limit_reached" 409 Warning Always unrecorded
        "Too many sessions are open in this window. Close one, then open this one.";
    /// Attachment absent or of another principal.
    AttachmentUnknown "attachment_unknown" 404 Warning Never unrecorded
        "An attachment is no longer on the server. Attach the file again.";
    /// Agent takes no attachments.
    AttachmentsUnsupported "attachments_unsupported" 409 Warning Never unrecorded
        "This agent takes no attachments. Remove them, or choose another agent.";
    /// Steer: run not in phase running.
    NotRunning "not_running" 409 Warning Never unrecorded
        "The run no longer takes hints. Send a message instead.";
    /// Steer: no live channel.
    StreamDead "stream_dead" 409 Warning Never unrecorded
        "The run can no longer be reached. Wait for its end, then send a message.";
    /// Steer: no agent registered.
    NoAgent "no_agent" 409 Warning Never unrecorded
        "The agent of this run is not there yet. Send a message when the run has ended.";
    /// Steer: agent takes no steers.
    Unsupported "unsupported" 409 Warning Never unrecorded
        "This agent takes no hints while it runs. Send a message when it has finished.";
    /// Steer: 16 unsettled.
    SteerFull "steer_full" 409 Warning Always unrecorded
        "Too many hints wait for the agent. Try again when it has read one.";
    /// Steer: could not be accepted.
    SteerError "steer_error" 503 Warning Always unrecorded
        "The hint could not be handed over. Try again.";
    /// Created by clients only, scope transport.
    ConnectionLost "connection_lost" - Error Always unrecorded
        "The connection to the server was lost. It is being restored; check the result afterwards.";
}
