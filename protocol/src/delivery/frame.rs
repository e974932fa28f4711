//! A frame as the sender queue sees it: a key, a range, a size and references to its bodies.

use serde::{Deserialize, Serialize};

use crate::ids::{ItemId, JobId, PayloadId, PayloadRef, RunId, SessionId, SteerId};
use crate::wire::Class;
use crate::wire::actions::ManageKind;
use crate::wire::frames::FrameType;

/// Something with a live stream; its id is never reused (delivery.md 1).
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(untagged)]
pub enum EntityId {
    /// A run; its entity id is the run id.
    Run(RunId),
    /// A background job.
    Job(JobId),
}

/// What a terminal frame is, beyond being terminal.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(tag = "kind", rename_all = "snake_case")]
pub enum TerminalRole {
    /// The answer to an action, whatever its type (SND-6).
    Reply,
    /// A push.
    Push,
    /// Relayed from foreign code; at most 16 are queued (SND-6).
    Foreign,
    /// The end of an entity: nothing of it follows (SND-18).
    End {
        /// The entity that ended.
        entity: EntityId,
    },
}

/// Type and coalescing key of a frame; the class follows from it (SND-6).
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(tag = "type", rename_all = "snake_case")]
pub enum FrameKey {
    /// Any terminal frame; it has no key and never coalesces.
    Terminal {
        /// The session it belongs to, if any.
        session: Option<SessionId>,
        /// What it is.
        role: TerminalRole,
    },
    /// `pong`.
    Pong,
    /// `heartbeat`.
    Heartbeat,
    /// `status`.
    Status,
    /// `reload_required`.
    ReloadRequired,
    /// `recovery_required` as a push.
    RecoveryRequired,
    /// `sync_required`.
    SyncRequired {
        /// The session with the gap.
        session: SessionId,
        /// The entity with the gap; none for commits of the session.
        entity: Option<EntityId>,
    },
    /// `stream_text`; range `base_seq` to `stream_seq`.
    StreamText {
        /// Its session.
        session: SessionId,
        /// Its entity.
        entity: EntityId,
        /// The item the text belongs to.
        item: ItemId,
    },
    /// `stream_note`; range `base_seq` to `stream_seq`; each part is one name.
    StreamNote {
        /// Its session.
        session: SessionId,
        /// Its entity.
        entity: EntityId,
    },
    /// `steer_settled`.
    SteerSettled {
        /// Its session.
        session: SessionId,
        /// Its entity.
        entity: EntityId,
        /// The steer that was settled.
        steer: SteerId,
    },
    /// `session_delta`; range `from_revision` to `to_revision`; each part is one op or more.
    SessionDelta {
        /// Its session.
        session: SessionId,
    },
    /// `stream_update`.
    StreamUpdate {
        /// Its session.
        session: SessionId,
        /// Its entity.
        entity: EntityId,
        /// The item the value belongs to.
        item: ItemId,
    },
    /// `job_status` of a job that goes on.
    JobStatus {
        /// Its session.
        session: SessionId,
        /// The job.
        job: JobId,
    },
    /// `run_status`.
    RunStatus {
        /// Its session.
        session: SessionId,
        /// The run.
        run: RunId,
    },
    /// `session_item`.
    SessionItem {
        /// The session it describes.
        session: SessionId,
    },
    /// `questions_list` as a push.
    QuestionsList {
        /// Its session.
        session: SessionId,
    },
    /// `jobs_list` as a push.
    JobsList {
        /// Its session.
        session: SessionId,
    },
    /// `managed_list` as a push.
    ManagedList {
        /// What it lists.
        managed: ManageKind,
    },
    /// `graph_summary` as a push.
    GraphSummary {
        /// Its session.
        session: SessionId,
    },
}

impl FrameKey {
    /// The delivery class: that of its type; terminal for replies and all other frames without a key (SND-6).
    pub fn class(&self) -> Class {
        self.frame_type().map_or(Class::Terminal, FrameType::push_class)
    }

    /// The type on the wire; none for a terminal frame, whose type lies in its body.
    pub const fn frame_type(&self) -> Option<FrameType> {
        Some(match self {
            Self::Terminal { .. } => return None,
            Self::Pong => FrameType::Pong,
            Self::Heartbeat => FrameType::Heartbeat,
            Self::Status => FrameType::Status,
            Self::ReloadRequired => FrameType::ReloadRequired,
            Self::RecoveryRequired => FrameType::RecoveryRequired,
            Self::SyncRequired { .. } => FrameType::SyncRequired,
            Self::StreamText { .. } => FrameType::StreamText,
            Self::StreamNote { .. } => FrameType::StreamNote,
            Self::SteerSettled { .. } => FrameType::SteerSettled,
            Self::SessionDelta { .. } => FrameType::SessionDelta,
            Self::StreamUpdate { .. } => FrameType::StreamUpdate,
            Self::JobStatus { .. } => FrameType::JobStatus,
            Self::RunStatus { .. } => FrameType::RunStatus,
            Self::SessionItem { .. } => FrameType::SessionItem,
            Self::QuestionsList { .. } => FrameType::QuestionsList,
            Self::JobsList { .. } => FrameType::JobsList,
            Self::ManagedList { .. } => FrameType::ManagedList,
            Self::GraphSummary { .. } => FrameType::GraphSummary,
        })
    }

    /// The session the frame belongs to.
    pub const fn session(&self) -> Option<SessionId> {
        match *self {
            Self::Terminal { session, .. } => session,
            Self::Pong
            | Self::Heartbeat
            | Self::Status
            | Self::ReloadRequired
            | Self::RecoveryRequired
            | Self::ManagedList { .. } => None,
            Self::SyncRequired { session, .. }
            | Self::StreamText { session, .. }
            | Self::StreamNote { session, .. }
            | Self::SteerSettled { session, .. }
            | Self::SessionDelta { session }
            | Self::StreamUpdate { session, .. }
            | Self::JobStatus { session, .. }
            | Self::RunStatus { session, .. }
            | Self::SessionItem { session }
            | Self::QuestionsList { session }
            | Self::JobsList { session }
            | Self::GraphSummary { session } => Some(session),
        }
    }

    /// The entity whose live frame this is; `sync_required` is about one, but not of it.
    pub const fn entity(&self) -> Option<EntityId> {
        match *self {
            Self::StreamText { entity, .. }
            | Self::StreamNote { entity, .. }
            | Self::SteerSettled { entity, .. }
            | Self::StreamUpdate { entity, .. }
            | Self::Terminal { role: TerminalRole::End { entity }, .. } => Some(entity),
            Self::JobStatus { job, .. } => Some(EntityId::Job(job)),
            Self::RunStatus { run, .. } => Some(EntityId::Run(run)),
            Self::Terminal {
                role: TerminalRole::Reply | TerminalRole::Push | TerminalRole::Foreign,
                ..
            }
            | Self::Pong
            | Self::Heartbeat
            | Self::Status
            | Self::ReloadRequired
            | Self::RecoveryRequired
            | Self::SyncRequired { .. }
            | Self::SessionDelta { .. }
            | Self::SessionItem { .. }
            | Self::QuestionsList { .. }
            | Self::JobsList { .. }
            | Self::ManagedList { .. }
            | Self::GraphSummary { .. } => None,
        }
    }

    /// Whether this is a state frame: the newest one must arrive (delivery.md 1).
    pub const fn is_state(&self) -> bool {
        matches!(self, Self::RunStatus { .. } | Self::SessionItem { .. })
    }

    /// Whether this is a delta: class append or replace without state frames (delivery.md 1).
    pub fn is_delta(&self) -> bool {
        matches!(self.class(), Class::Append | Class::Replace) && !self.is_state()
    }

    /// Whether contiguous frames of this type merge (table 5.2, step 4).
    pub const fn is_mergeable(&self) -> bool {
        matches!(
            self,
            Self::StreamText { .. } | Self::StreamNote { .. } | Self::SessionDelta { .. }
        )
    }

    /// Whether this frame answers an action.
    pub const fn is_reply(&self) -> bool {
        matches!(self, Self::Terminal { role: TerminalRole::Reply, .. })
    }

    /// Whether foreign code made this frame.
    pub const fn is_foreign(&self) -> bool {
        matches!(self, Self::Terminal { role: TerminalRole::Foreign, .. })
    }

    /// Bytes between two parts: text is one string, names and ops are lists.
    const fn separator_bytes(&self) -> usize {
        match self {
            Self::StreamNote { .. } | Self::SessionDelta { .. } => 1,
            Self::Terminal { .. }
            | Self::Pong
            | Self::Heartbeat
            | Self::Status
            | Self::ReloadRequired
            | Self::RecoveryRequired
            | Self::SyncRequired { .. }
            | Self::StreamText { .. }
            | Self::SteerSettled { .. }
            | Self::StreamUpdate { .. }
            | Self::JobStatus { .. }
            | Self::RunStatus { .. }
            | Self::SessionItem { .. }
            | Self::QuestionsList { .. }
            | Self::JobsList { .. }
            | Self::ManagedList { .. }
            | Self::GraphSummary { .. } => 0,
        }
    }
}

/// The bodies of a frame in order. One body, the common case, needs no allocation.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(from = "Vec<PayloadRef>", into = "Vec<PayloadRef>")]
pub enum Parts {
    /// No body: the head says everything.
    #[default]
    None,
    /// One body.
    One(PayloadRef),
    /// Two or more, after merging.
    Many(Vec<PayloadRef>),
}

impl Parts {
    /// The bodies in order.
    pub fn as_slice(&self) -> &[PayloadRef] {
        match self {
            Self::None => &[],
            Self::One(part) => std::slice::from_ref(part),
            Self::Many(parts) => parts,
        }
    }

    /// How many bodies.
    pub fn len(&self) -> usize {
        self.as_slice().len()
    }

    /// Whether there is no body.
    pub fn is_empty(&self) -> bool {
        self.as_slice().is_empty()
    }

    /// Sum of the bodies' serialized bytes.
    pub fn json_bytes(&self) -> usize {
        self.as_slice().iter().map(|part| part.json_bytes as usize).sum()
    }

    /// The ids of the bodies in order.
    pub fn ids(&self) -> impl Iterator<Item = PayloadId> + '_ {
        self.as_slice().iter().map(|part| part.id)
    }

    /// Puts `later` behind these bodies.
    pub fn append(&mut self, later: Self) {
        match (&mut *self, later) {
            (_, Self::None) => {}
            (Self::None, later) => *self = later,
            (Self::One(first), Self::One(part)) => *self = Self::Many(vec![*first, part]),
            (Self::One(first), Self::Many(mut parts)) => {
                parts.insert(0, *first);
                *self = Self::Many(parts);
            }
            (Self::Many(parts), Self::One(part)) => parts.push(part),
            (Self::Many(parts), Self::Many(mut more)) => parts.append(&mut more),
        }
    }
}

impl From<Vec<PayloadRef>> for Parts {
    fn from(parts: Vec<PayloadRef>) -> Self {
        match parts.as_slice() {
            [] => Self::None,
            [one] => Self::One(*one),
            _ => Self::Many(parts),
        }
    }
}

impl From<PayloadRef> for Parts {
    fn from(part: PayloadRef) -> Self {
        Self::One(part)
    }
}

impl From<Parts> for Vec<PayloadRef> {
    fn from(parts: Parts) -> Self {
        match parts {
            Parts::None => Self::new(),
            Parts::One(part) => vec![part],
            Parts::Many(parts) => parts,
        }
    }
}

/// A frame in the sender queue. Bodies live outside; sizes are exact (SND-4).
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct QueuedFrame {
    /// Type, coalescing key and owner.
    pub key: FrameKey,
    /// Number before its first row or commit (`base_seq`, `from_revision`) of a mergeable frame; none is
    /// `null` on the wire.
    pub begin: Option<u64>,
    /// Number of its last row or commit (`stream_seq`, `to_revision`) of a mergeable frame; none is `null` on
    /// the wire.
    pub end: Option<u64>,
    /// Newer frames of a key have a larger one: seq, revision or a counter its producer attaches.
    pub version: u64,
    /// `complete` of a `stream_terminal`: the queue decides it when it admits the frame (SES-43).
    pub complete: bool,
    /// Serialized bytes of the frame without bodies and, if mergeable, without its two numbers. A
    /// `stream_terminal` counts `complete` with its longer value.
    pub overhead_bytes: u32,
    /// The bodies in order.
    pub parts: Parts,
}

impl QueuedFrame {
    /// A frame without range, version or merging.
    pub fn new(key: FrameKey, overhead_bytes: u32, parts: impl Into<Parts>) -> Self {
        Self {
            key,
            begin: None,
            end: None,
            version: 0,
            complete: true,
            overhead_bytes,
            parts: parts.into(),
        }
    }

    /// The same frame with the range of rows or commits it covers.
    #[must_use]
    pub fn with_range(self, begin: Option<u64>, end: Option<u64>) -> Self {
        Self { begin, end, ..self }
    }

    /// The same frame with a version.
    #[must_use]
    pub fn with_version(self, version: u64) -> Self {
        Self { version, ..self }
    }

    /// UTF-8 bytes of the frame's serialized JSON (SND-4).
    pub fn bytes(&self) -> usize {
        let numbers = if self.key.is_mergeable() {
            number_bytes(self.begin) + number_bytes(self.end)
        } else {
            0
        };
        let separators = self.key.separator_bytes() * self.parts.len().saturating_sub(1);
        self.overhead_bytes as usize + numbers + self.parts.json_bytes() + separators
    }

    /// Bytes of the frame that `later` merged behind this one would make.
    pub(super) fn merged_bytes(&self, own_bytes: usize, later: &Self) -> usize {
        let joint = !self.parts.is_empty() && !later.parts.is_empty();
        let separators = if joint { self.key.separator_bytes() } else { 0 };
        let inner = self.key.separator_bytes() * later.parts.len().saturating_sub(1);
        own_bytes - number_bytes(self.end)
            + number_bytes(later.end)
            + later.parts.json_bytes()
            + separators
            + inner
    }

    /// Merges `later` behind this frame: the first begin and the last end are kept.
    pub(super) fn merge(&mut self, later: Self) {
        self.end = later.end;
        self.version = later.version;
        self.parts.append(later.parts);
    }
}

/// Bytes of a number in JSON; `null` for none.
const fn number_bytes(number: Option<u64>) -> usize {
    match number {
        None => 4,
        Some(0) => 1,
        Some(number) => number.ilog10() as usize + 1,
    }
}
