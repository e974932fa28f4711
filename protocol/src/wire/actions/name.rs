//! Names of the actions and what is fixed about each (2.5).

use std::fmt;
use std::str::FromStr;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::ManageKind;
use crate::wire::frames::FrameType;
use crate::wire::structures::Scope;

/// What an action does, which fixes its timeout and whether it may be repeated.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ActionKind {
    /// Upkeep of the connection; only `ping`.
    Upkeep,
    /// Reads.
    Read,
    /// Reads, with the long timeout.
    Load,
    /// Has effects.
    Change,
    /// Has effects, with the timeout of a run.
    Run,
}

impl ActionKind {
    /// Whether the action has effects.
    pub const fn changes(self) -> bool {
        match self {
            Self::Change | Self::Run => true,
            Self::Upkeep | Self::Read | Self::Load => false,
        }
    }
}

/// Whether an action on a connection needs a request id.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum IdRule {
    Required,
    Optional,
    Ignored,
}

/// The text names no action of this protocol version.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("unknown action: use one of the actions of protocol 1")]
pub struct UnknownActionName;

struct Facts {
    name: &'static str,
    id: IdRule,
    kind: ActionKind,
    scope: Scope,
    owner: bool,
}

macro_rules! actions {
    ($($(#[$doc:meta])* $variant:ident $name:literal $id:ident $kind:ident $scope:ident
        $role:ident;)*) => {
        /// Name of an action.
        #[derive(
            Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize,
            JsonSchema,
        )]
        pub enum ActionName {
            $($(#[$doc])* #[serde(rename = $name)] $variant,)*
        }

        impl ActionName {
            /// Every action, in the order of 2.5.
            pub const ALL: &'static [Self] = &[$(Self::$variant,)*];

            const fn facts(self) -> Facts {
                match self {
                    $(Self::$variant => Facts {
                        name: $name,
                        id: IdRule::$id,
                        kind: ActionKind::$kind,
                        scope: Scope::$scope,
                        owner: actions!(@owner $role),
                    },)*
                }
            }
        }
    };
    (@owner owner) => { true };
    (@owner any) => { false };
}

actions! {
    /// Negotiates.
    Hello "hello" Optional Read System any;
    /// Renews the lease.
    Ping "ping" Ignored Upkeep System any;
    /// Lists sessions.
    ListSessions "list_sessions" Optional Read Session any;
    /// Lists agents.
    ListAgents "list_agents" Optional Read Agent any;
    /// Makes a session.
    CreateSession "create_session" Required Change Session any;
    /// Changes a session.
    UpdateSession "update_session" Required Change Session any;
    /// Deletes a session.
    DeleteSession "delete_session" Required Change Session any;
    /// Subscribes to a session.
    OpenSession "open_session" Optional Load Session any;
    /// Ends the subscription.
    CloseSession "close_session" Optional Read Session any;
    /// Reads a page of history.
    LoadHistory "load_history" Optional Load Session any;
    /// Reads the live content of an entity.
    GetStream "get_stream" Optional Load Session any;
    /// Reads the graph.
    GetGraph "get_graph" Optional Load Session any;
    /// Reads content behind a marker.
    GetDetail "get_detail" Optional Load Session any;
    /// Lists branches.
    ListBranches "list_branches" Optional Read Session any;
    /// Moves the head.
    SetHead "set_head" Required Change Session any;
    /// Changes the transcript at a message.
    Rewrite "rewrite" Required Run Session any;
    /// Submits a message.
    SendMessage "send_message" Required Run Session any;
    /// Stops a run.
    StopRun "stop_run" Required Run Session any;
    /// Gives a running agent a hint.
    SteerRun "steer_run" Required Run Session any;
    /// Lists what waits.
    ListQueue "list_queue" Optional Read Session any;
    /// Takes a message out of the queue.
    RemoveQueued "remove_queued" Required Change Session any;
    /// Lets a held queue go on.
    ResumeQueue "resume_queue" Required Change Session any;
    /// Lists open questions.
    ListQuestions "list_questions" Optional Read Session any;
    /// Answers a question.
    AnswerQuestion "answer_question" Required Run Session any;
    /// Lists jobs.
    ListJobs "list_jobs" Optional Read Job any;
    /// Starts, cancels or retries a job.
    JobCommand "job_command" Required Change Job any;
    /// Lists open error records.
    ListUserErrors "list_user_errors" Required Read System any;
    /// Closes an error record.
    AcknowledgeUserError "acknowledge_user_error" Required Change System any;
    /// Asks what became of a request.
    GetRequestResult "get_request_result" Required Read System any;
    /// Lists managed things.
    ManageList "manage_list" Optional Read Settings owner;
    /// Changes a managed thing.
    ManageApply "manage_apply" Required Change Settings owner;
    /// Reads the metrics.
    GetMetrics "get_metrics" Optional Read System owner;
    /// Measures the state directory.
    ScanState "scan_state" Optional Load System owner;
    /// Plans a cleanup.
    PlanCleanup "plan_cleanup" Required Read System owner;
    /// Carries out a planned cleanup.
    ConfirmCleanup "confirm_cleanup" Required Change System owner;
}

impl ActionName {
    /// Its name on the wire.
    pub const fn as_str(self) -> &'static str {
        self.facts().name
    }

    /// What it does.
    pub const fn kind(self) -> ActionKind {
        self.facts().kind
    }

    /// Scope of its errors (ACT-7); where the field `kind` decides, that of kind settings: see
    /// [`super::Action::scope`].
    pub const fn scope(self) -> Scope {
        self.facts().scope
    }

    /// Scope of its errors, given the field `kind` of a management action (ACT-7).
    pub(super) const fn scope_of(self, kind: Option<ManageKind>) -> Scope {
        match (self, kind) {
            (Self::ManageList | Self::ManageApply, Some(ManageKind::Channels)) => Scope::Channel,
            (Self::ManageList | Self::ManageApply, Some(ManageKind::Agents)) => Scope::Agent,
            (_, _) => self.scope(),
        }
    }

    /// Whether only principals of owner role reach it.
    pub const fn owner_only(self) -> bool {
        self.facts().owner
    }

    /// Whether a missing or unsafe request id is refused (column id, R).
    pub const fn request_id_required(self) -> bool {
        matches!(self.facts().id, IdRule::Required)
    }

    /// Whether the action has a request id at all; only `ping` has none.
    pub const fn has_request_id(self) -> bool {
        !matches!(self.facts().id, IdRule::Ignored)
    }

    /// Whether this release serves it; any other action is answered `unknown_action`.
    pub const fn delivered(self) -> bool {
        match self {
            Self::Hello
            | Self::Ping
            | Self::ListSessions
            | Self::ListAgents
            | Self::CreateSession
            | Self::UpdateSession
            | Self::DeleteSession
            | Self::OpenSession
            | Self::CloseSession
            | Self::LoadHistory
            | Self::GetStream
            | Self::SendMessage
            | Self::StopRun
            | Self::SteerRun
            | Self::Rewrite
            | Self::ListQueue
            | Self::RemoveQueued
            | Self::ResumeQueue
            | Self::ListQuestions
            | Self::AnswerQuestion
            | Self::ListUserErrors
            | Self::AcknowledgeUserError
            | Self::GetRequestResult => true,
            Self::GetGraph
            | Self::GetDetail
            | Self::ListBranches
            | Self::SetHead
            | Self::ListJobs
            | Self::JobCommand
            | Self::ManageList
            | Self::ManageApply
            | Self::GetMetrics
            | Self::ScanState
            | Self::PlanCleanup
            | Self::ConfirmCleanup => false,
        }
    }

    /// Frame in which a refusal of it travels (ENV-13): a refusal frame for a change of a session,
    /// an unrecorded `operation_error` for every other action.
    pub const fn refusal_frame(self) -> FrameType {
        match (self, self.scope()) {
            (Self::AnswerQuestion, _) => FrameType::AnswerRefused,
            (Self::StopRun, _) => FrameType::StopResult,
            (Self::SteerRun, _) => FrameType::SteerResult,
            (_, Scope::Session) if self.kind().changes() => FrameType::MessageRefused,
            (_, _) => FrameType::OperationError,
        }
    }
}

impl fmt::Display for ActionName {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(self.as_str())
    }
}

impl FromStr for ActionName {
    type Err = UnknownActionName;

    fn from_str(text: &str) -> Result<Self, UnknownActionName> {
        let found = Self::ALL.iter().find(|name| name.as_str() == text);
        found.copied().ok_or(UnknownActionName)
    }
}
